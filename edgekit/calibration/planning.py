"""How many more labels reach a wanted standard deviation of the threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass

from edgekit.calibration.results import ThresholdFit
from edgekit.errors import SettingsError


@dataclass(frozen=True)
class LabelPlan:
    """What a wanted sigma costs."""

    sigma_wanted: float
    sigma_now: float
    """Between units."""
    design_effect: float
    """Variance now over that of equation 7."""
    likeness: float
    """rho of design effect = 1 + (pairs a tile - 1) rho; 0 where tiles are no more alike than chance."""
    pairs_if_independent: int
    """By equation 7 alone: n = (1/R^2 - 1) (var_x + (x_th - mean_x)^2) / sigma^2."""
    tiles_needed: int
    """Tiles in all, labelled like those so far."""
    more_tiles: int
    tiles_needed_singly: int
    """Tiles in all if one prediction of each were labelled: what many tiles with few labels would do."""


def plan_labels(fit: ThresholdFit, sigma_wanted: float) -> LabelPlan:
    """The labels that a wanted sigma needs, by the scatter seen so far; both sigmas shrink with 1 / sqrt(units).

    Raises:
        SettingsError: a sigma that is not positive.
    """
    require_sigma(sigma_wanted)
    error = fit.uncertainty
    effect = max(error.design_effect, 1.0) if math.isfinite(error.design_effect) else 1.0
    a_tile = fit.n / fit.tiles
    likeness = min((effect - 1) / (a_tile - 1), 1.0) if a_tile > 1 else 0.0
    independent = math.ceil(fit.n * (error.sigma / sigma_wanted) ** 2)
    needed = math.ceil(fit.tiles * (error.sigma_units / sigma_wanted) ** 2)
    return LabelPlan(
        sigma_wanted=sigma_wanted,
        sigma_now=error.sigma_units,
        design_effect=error.design_effect,
        likeness=likeness,
        pairs_if_independent=independent,
        tiles_needed=needed,
        more_tiles=max(needed - fit.tiles, 0),
        tiles_needed_singly=independent,
    )


def require_sigma(sigma_wanted: float) -> None:
    """Pass where labels can reach a sigma.

    Raises:
        SettingsError: it is not positive, or not a number.
    """
    if not 0 < sigma_wanted < math.inf:
        raise SettingsError(f"sigma {sigma_wanted:g}", mend="ask for a positive one, such as 0.02")


def sigma_curve(fit: ThresholdFit, pair_counts: list[int]) -> list[tuple[int, float, float]]:
    """(n, sigma by equation 7, sigma over tiles) for other numbers of pairs, with the same pairs a tile."""
    error = fit.uncertainty
    return [(n, error.sigma * math.sqrt(fit.n / n), error.sigma_units * math.sqrt(fit.n / n)) for n in pair_counts]
