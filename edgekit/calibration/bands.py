"""Thresholds by height in the panorama: immature fruit hang higher, and a model may be less sure of them.

Bands are kept apart only where a test says that they differ; then each band's threshold is drawn towards the common one
by as much as its own error is large beside the true spread of the bands (empirical Bayes, random effects).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.stats import f as f_distribution

from edgekit.calibration.clusters import unit_estimate
from edgekit.calibration.fit import fit_or_refusal
from edgekit.calibration.moments import sums_by
from edgekit.calibration.pairs import Floats, Pairs
from edgekit.calibration.refusal import CalibrationRefused
from edgekit.calibration.results import ThresholdFit
from edgekit.calibration.settings import FitSettings
from edgekit.errors import SettingsError

TEST = (
    "Wald F test that every band's line reaches the same IoU at the common threshold, errors by the delete-one-unit "
    "jackknife within each band"
)


@dataclass(frozen=True)
class BandFit:
    """One band of heights."""

    top: float
    bottom: float
    n: int
    tiles: int
    own_threshold: float | None
    """Fitted on this band alone; None where that is refused."""
    sigma: float | None
    refusal: str | None
    threshold: float
    """What holds: the common one, or the band's own drawn towards it."""
    own_weight: float
    """0: the common threshold; 1: the band's own."""


@dataclass(frozen=True)
class BandsResult:
    """All bands, and whether they are kept apart."""

    bands: tuple[BandFit, ...]
    separate: bool
    p_value: float | None
    """Of the test; None where fewer than two bands can be tested."""
    spread: float
    """Standard deviation of the true thresholds among bands (DerSimonian and Laird); 0 where pooled."""
    test: str = TEST


def fit_bands(
    pairs: Pairs,
    pooled: ThresholdFit,
    edges: Sequence[float],
    *,
    settings: FitSettings | None = None,
    alpha: float = 0.05,
) -> BandsResult:
    """Fit every band between neighbouring edges (0 the top, 1 the bottom of the panorama).

    Raises:
        SettingsError: pairs without heights, or edges that do not rise from 0 to 1.
    """
    settings = settings or FitSettings()
    if pairs.height is None:
        raise SettingsError("the pairs have no heights", mend="fit with --run, or add a column height to the table")
    require_edges(edges)
    which = np.clip(np.searchsorted(edges, pairs.height, side="right") - 1, 0, len(edges) - 2)
    parts = [pairs.select(which == band) for band in range(len(edges) - 1)]
    fits = [fit_or_refusal(part, pooled.iou_target, settings) for part in parts]
    p_value = _common_p(parts, pooled.threshold, settings)
    separate = p_value is not None and p_value < alpha
    spread = _spread([fit for fit in fits if isinstance(fit, ThresholdFit)]) if separate else 0.0
    bands = [
        _band(part, fit, (edges[band], edges[band + 1]), pooled.threshold, spread)
        for band, (part, fit) in enumerate(zip(parts, fits, strict=True))
    ]
    return BandsResult(tuple(bands), separate, p_value, spread)


def require_edges(edges: Sequence[float]) -> None:
    """Pass where edges cut the heights into two bands or more.

    Raises:
        SettingsError: they do not rise from 0 to 1.
    """
    if len(edges) < 3 or edges[0] != 0 or edges[-1] != 1 or not all(a < b for a, b in pairwise(edges)):
        raise SettingsError(f"band edges {list(edges)}", mend="let them rise from 0 to 1, such as 0, 0.5, 1")


def _common_p(parts: list[Pairs], threshold: float, settings: FitSettings) -> float | None:
    """p of equal expected IoU at the common threshold; bands with too few pairs or units stay out."""
    values, variances, units = [], [], []
    for part in parts:
        if len(part) < settings.min_pairs or part.by_unit.number < settings.min_units or np.ptp(part.confidence) == 0:
            continue
        estimate = unit_estimate(sums_by(part, part.by_unit))
        away = threshold - float(estimate.centre_x)
        values.append(float(estimate.value) + float(estimate.slope) * away)
        variances.append(float(estimate.var_value + 2 * away * estimate.cov + away**2 * estimate.var_slope))
        units.append(part.by_unit.number)
    if len(values) < 2 or min(variances) <= 0:
        return None
    weights = 1 / np.array(variances)
    common = np.average(values, weights=weights)
    statistic = float(np.sum(weights * (np.array(values) - common) ** 2)) / (len(values) - 1)
    return float(f_distribution.sf(statistic, len(values) - 1, min(units) - 1))


def _spread(fits: list[ThresholdFit]) -> float:
    """Standard deviation of the true thresholds by the method of moments (R. DerSimonian and N. Laird, 1986)."""
    if len(fits) < 2:
        return 0.0
    thresholds: Floats = np.array([fit.threshold for fit in fits])
    weights = np.array([1 / fit.uncertainty.sigma_units**2 for fit in fits])
    q = np.sum(weights * (thresholds - np.average(thresholds, weights=weights)) ** 2)
    scale = weights.sum() - np.sum(weights**2) / weights.sum()
    return float(np.sqrt(max((q - (len(fits) - 1)) / scale, 0.0)))


def _band(
    part: Pairs, fit: ThresholdFit | CalibrationRefused, ends: tuple[float, float], common: float, spread: float
) -> BandFit:
    top, bottom = ends
    size = (len(part), part.by_tile.number)
    if isinstance(fit, CalibrationRefused):
        return BandFit(top, bottom, *size, None, None, str(fit), common, 0.0)
    sigma = fit.uncertainty.sigma_units
    weight = spread**2 / (spread**2 + sigma**2) if spread > 0 else 0.0
    threshold = weight * fit.threshold + (1 - weight) * common
    return BandFit(top, bottom, *size, fit.threshold, sigma, None, threshold, weight)
