"""From pairs to a threshold with its uncertainty, or to a refusal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edgekit.calibration.bootstrap import TileBootstrap, bootstrap_tiles, draw_weights
from edgekit.calibration.checks import LineChecks, check_line
from edgekit.calibration.clusters import tile_estimate
from edgekit.calibration.correlation import correlation_p_value, fisher_interval
from edgekit.calibration.fieller import Bounds, fieller_bounds, independent_estimate
from edgekit.calibration.gates import (
    require_acted_interval,
    require_fair_pairs,
    require_place_for_threshold,
    require_rising_line,
)
from edgekit.calibration.influence import TileInfluence, influence_of_tiles, suspect_rows
from edgekit.calibration.moments import Moments, TileSums, moments_of, sums_by_tile
from edgekit.calibration.pairs import Pairs
from edgekit.calibration.refusal import CalibrationRefused
from edgekit.calibration.regression import fit_line, pearson_r, solve
from edgekit.calibration.settings import FitSettings
from edgekit.calibration.sigma import sigma_by_propagation, sigma_closed_form
from edgekit.errors import SettingsError


class Interval(NamedTuple):
    """Both ends belong to it."""

    low: float
    high: float

    def __contains__(self, value: object) -> bool:
        return isinstance(value, float | int) and self.low <= value <= self.high


@dataclass(frozen=True)
class Uncertainty:
    """Every standard deviation and interval of the threshold, by the name of its procedure."""

    sigma: float
    """Equation 7."""
    sigma_propagated: float
    """Equation 4, the same figure by another way."""
    sigma_tiles: float
    """Standard deviation over bootstrap draws of tiles: what comparisons use."""
    paper: Interval
    """x_th +- 1.96 sigma."""
    fieller: Interval
    """Fieller, pairs taken as independent."""
    tile_fieller: Interval
    """Fieller with the covariance of the delete-one-tile jackknife: holds its level from 10 tiles on."""
    bootstrap: Interval
    """BCa over draws of tiles."""
    acted: Interval
    """The span of the last three: what edgekit acts on."""

    @property
    def design_effect(self) -> float:
        """How many times more variance than equation 7 says, since labels of one tile are alike."""
        return (self.sigma_tiles / self.sigma) ** 2 if self.sigma > 0 else float("nan")


@dataclass(frozen=True)
class ThresholdFit:
    """The threshold of one IoU target."""

    iou_target: float
    threshold: float
    """x_th, equation 3."""
    b0: float
    b1: float
    n: int
    tiles: int
    mean_confidence: float
    var_confidence: float
    mean_iou: float
    var_iou: float
    r: float
    """Pearson R, with its sign."""
    r_squared: float
    r_interval: Interval | None
    """Fisher's interval; None with fewer than four pairs."""
    p_value: float | None
    """Of R = 0."""
    uncertainty: Uncertainty
    checks: LineChecks
    influence: tuple[TileInfluence, ...]
    """Every tile, the one that moves the threshold furthest first."""
    suspects: int
    """Confident predictions without a label."""
    overlapping_only: float | None
    """The threshold had predictions without any overlap been left out, for comparison; None where there is none."""
    below_floor: int
    """Pairs that were left out because they lie below the score floor."""
    rule: str
    """How predictions were paired and which pairs were used, in words."""
    warnings: tuple[str, ...]


PAIRING_RULE = (
    "every prediction at or above the score floor, with its best mask IoU over the labels of its tile, "
    "0 where it overlaps none, ties by label id"
)


def fit_threshold(pairs: Pairs, iou_target: float, *, settings: FitSettings | None = None) -> ThresholdFit:
    """Fit the line, solve it for the target and gather what is known of the error.

    Args:
        pairs: predictions of the labelled tiles.
        iou_target: y_th, between 0 and 1.
        settings: limits, levels and seed.

    Raises:
        CalibrationRefused: the pairs carry no threshold; `reason` is typed.
        SettingsError: a target that is no IoU.
    """
    settings = settings or FitSettings()
    if not 0 < iou_target < 1:
        raise SettingsError(f"the IoU target must lie between 0 and 1, got {iou_target:g}", mend="try 0.5")
    used = _used_pairs(pairs, settings)
    require_fair_pairs(used, pairs, settings)
    moments = moments_of(used.confidence, used.iou)
    require_rising_line(used, moments)
    sums = sums_by_tile(used)
    tile_bootstrap = _bootstrap(sums, iou_target, settings)
    bounds = _all_bounds(moments, sums, tile_bootstrap, iou_target, settings.level)
    require_acted_interval(bounds, len(used), len(used.tile_names), settings.level)
    require_place_for_threshold(used, float(solve(fit_line(moments), iou_target)), iou_target)
    uncertainty = _uncertainty(moments, bounds, tile_bootstrap, iou_target, settings)
    return _result(used, pairs, moments, uncertainty, iou_target, settings)


def fit_thresholds(
    pairs: Pairs, iou_targets: Sequence[float], *, settings: FitSettings | None = None
) -> dict[float, ThresholdFit | CalibrationRefused]:
    """Several targets at once; a target that is refused has its refusal as value."""
    return {target: _fit_or_refusal(pairs, target, settings) for target in iou_targets}


def _fit_or_refusal(pairs: Pairs, iou_target: float, settings: FitSettings | None) -> ThresholdFit | CalibrationRefused:
    try:
        return fit_threshold(pairs, iou_target, settings=settings)
    except CalibrationRefused as refusal:
        return refusal


def _used_pairs(pairs: Pairs, settings: FitSettings) -> Pairs:
    used = pairs.select(pairs.confidence >= settings.score_floor)
    return used.select(~suspect_rows(used, settings)) if settings.leave_out_suspects else used


def _bootstrap(sums: TileSums, iou_target: float, settings: FitSettings) -> TileBootstrap:
    weights = draw_weights(sums.tiles, settings.draws, settings.seed)
    return bootstrap_tiles(sums, iou_target, weights, settings.level)


def _all_bounds(
    moments: Moments, sums: TileSums, tile_bootstrap: TileBootstrap, iou_target: float, level: float
) -> dict[str, Bounds]:
    return {
        "fieller": fieller_bounds(independent_estimate(moments), iou_target, level),
        "tile_fieller": fieller_bounds(tile_estimate(sums), iou_target, level),
        "bootstrap": tile_bootstrap.bounds,
    }


def _uncertainty(
    moments: Moments,
    bounds: dict[str, Bounds],
    tile_bootstrap: TileBootstrap,
    iou_target: float,
    settings: FitSettings,
) -> Uncertainty:
    threshold = float(solve(fit_line(moments), iou_target))
    sigma = float(sigma_closed_form(moments, iou_target))
    ends = {name: Interval(float(found.low), float(found.high)) for name, found in bounds.items()}
    return Uncertainty(
        sigma=sigma,
        sigma_propagated=float(sigma_by_propagation(moments, iou_target)),
        sigma_tiles=float(tile_bootstrap.sigma),
        paper=Interval(threshold - 1.96 * sigma, threshold + 1.96 * sigma),
        acted=Interval(min(end.low for end in ends.values()), max(end.high for end in ends.values())),
        **ends,
    )


def _result(
    used: Pairs,
    given: Pairs,
    moments: Moments,
    uncertainty: Uncertainty,
    iou_target: float,
    settings: FitSettings,
) -> ThresholdFit:
    line, r = fit_line(moments), float(pearson_r(moments))
    interval = fisher_interval(r, len(used), settings.level)
    suspects = int(suspect_rows(given, settings).sum())
    checks = check_line(used.confidence, used.iou, iou_target)
    return ThresholdFit(
        iou_target=iou_target,
        threshold=float(solve(line, iou_target)),
        b0=float(line.b0),
        b1=float(line.b1),
        n=len(used),
        tiles=len(used.tile_names),
        mean_confidence=float(moments.mean_x),
        var_confidence=float(moments.var_x),
        mean_iou=float(moments.mean_y),
        var_iou=float(moments.var_y),
        r=r,
        r_squared=r * r,
        r_interval=None if interval is None else Interval(*interval),
        p_value=correlation_p_value(r, len(used)),
        uncertainty=uncertainty,
        checks=checks,
        influence=influence_of_tiles(used, iou_target, settings),
        suspects=suspects,
        overlapping_only=_overlapping_only(used, iou_target),
        below_floor=int((given.confidence < settings.score_floor).sum()),
        rule=PAIRING_RULE
        + (f"; {suspects} suspected unlabelled fruit left out" if settings.leave_out_suspects else ""),
        warnings=_warnings(checks, uncertainty, suspects, iou_target, settings),
    )


def _overlapping_only(pairs: Pairs, iou_target: float) -> float | None:
    kept = pairs.select(pairs.iou > 0)
    if len(kept) < 3:
        return None
    threshold = float(solve(fit_line(moments_of(kept.confidence, kept.iou)), iou_target))
    return threshold if np.isfinite(threshold) else None


def _warnings(
    checks: LineChecks, uncertainty: Uncertainty, suspects: int, iou_target: float, settings: FitSettings
) -> tuple[str, ...]:
    """What a person should know before acting on the threshold."""
    found = []
    bent = checks.straight_p is not None and checks.straight_p < 1 - settings.level
    low, high = uncertainty.acted
    if bent and checks.monotone_threshold is not None and checks.monotone_threshold not in uncertainty.acted:
        place = f"the monotone fit reaches IoU {iou_target:g} at {checks.monotone_threshold:.3f}"
        found.append(f"the relation is bent: {place}, outside {low:.3f} to {high:.3f}")
    if suspects and not settings.leave_out_suspects:
        found.append(f"{suspects} confident predictions overlap no label: look at them, fruit may be unlabelled")
    if low <= 0 or high >= 1:
        found.append(f"the interval {low:.3f} to {high:.3f} leaves 0 to 1: label more tiles")
    return tuple(found)
