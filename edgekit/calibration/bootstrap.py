"""Bootstrap over units (tiles, or pictures): drawn whole, with replacement; the interval is bias-corrected (BCa)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from edgekit.calibration.fieller import Bounds
from edgekit.calibration.moments import GroupSums
from edgekit.calibration.pairs import Floats
from edgekit.calibration.regression import fit_line, solve

SAME = 1e-12
"""Thresholds up to this apart are one: rounding, where every pair lies on the line."""


@dataclass(frozen=True)
class UnitBootstrap:
    """What drawing the units anew says of the threshold."""

    bounds: Bounds
    sigma: Floats
    """Standard deviation of the thresholds of the draws."""


def draw_weights(units: int, draws: int, seed: int) -> Floats:
    """How often each unit comes up in each draw: draws x units, the same for the same seed."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(units, np.full(units, 1 / units), size=draws).astype(np.float64)


def bootstrap_units(sums: GroupSums, iou_target: float, weights: Floats, level: float = 0.95) -> UnitBootstrap:
    """BCa interval of x_th over draws of units (B. Efron, 1987).

    The ends are the quantiles at Phi(z0 + (z0 + z) / (1 - a (z0 + z))), z0 from the share of draws below x_th, a from
    the skewness of the thresholds with one unit left out. Draws whose line does not rise have no threshold; where they
    are half of (1 - level) or more, the interval is unbounded.
    """
    line = fit_line(sums.total())
    x_th = solve(line, iou_target)
    drawn_line = fit_line(sums.weighted(weights))
    drawn = np.where(drawn_line.b1 > 0, solve(drawn_line, iou_target), np.nan)
    left_out = solve(fit_line(sums.without_each()), iou_target)
    found = np.isfinite(drawn)
    kept = found.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        lost = 1 - kept / drawn.shape[-1]
        away = drawn - x_th[..., None]
        z0 = ndtri(((away < -SAME) + 0.5 * (np.abs(away) <= SAME)).sum(axis=-1) / kept)
        skew = left_out.mean(axis=-1, keepdims=True) - left_out
        square = (skew**2).sum(axis=-1)
        acceleration = np.where(square == 0, 0.0, (skew**3).sum(axis=-1) / (6 * square**1.5))
        shares = [
            ndtr(z0 + (z0 + z) / (1 - acceleration * (z0 + z))) for z in ndtri([(1 - level) / 2, (1 + level) / 2])
        ]
        ends = [_quantile(drawn, kept, share) for share in shares]
        centred = np.where(found, drawn - np.where(found, drawn, 0).sum(axis=-1, keepdims=True) / kept[..., None], 0)
        sigma = np.sqrt((centred**2).sum(axis=-1) / (kept - 1))
    solid = lost < (1 - level) / 2
    return UnitBootstrap(Bounds(*(np.where(solid, end, np.nan) for end in ends)), sigma)


def _quantile(drawn: Floats, kept: Floats, share: Floats) -> Floats:
    """Linear quantile of the finite values along the last axis, at a share for each leading element."""
    ordered = np.sort(drawn, axis=-1)  # NaN last
    position = np.clip(np.nan_to_num(share) * (kept - 1), 0, np.maximum(kept - 1, 0))
    below = np.floor(position).astype(np.intp)
    above = np.minimum(below + 1, np.maximum(kept - 1, 0)).astype(np.intp)
    low = np.take_along_axis(ordered, below[..., None], axis=-1)[..., 0]
    high = np.take_along_axis(ordered, above[..., None], axis=-1)[..., 0]
    return np.where(np.isnan(share), np.nan, low + (high - low) * (position - below))
