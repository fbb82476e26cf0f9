"""Risk-controlled thresholds: the lowest one whose kept masks are good often enough, with a stated probability.

Learn-then-Test (A. Angelopoulos, S. Bates, E. Candes, M. Jordan and L. Lei, 2021): each threshold t of a grid that was
fixed beforehand has the null hypothesis "of the predictions with confidence >= t, less than the wanted share have an
IoU >= y_th". They are tested from the highest downwards, with delta shared among several starts and handed on from each
that is rejected to the next; the lowest rejected threshold misses its promise with probability delta at most.

It assumes that the labelled tiles and those of the rows to come are exchangeable: drawn alike, in the same season.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from edgekit.calibration.pairs import Floats, Pairs
from edgekit.calibration.refusal import CalibrationRefused, Reason
from edgekit.errors import SettingsError

GRID = tuple(round(0.05 + 0.01 * step, 2) for step in range(95))
"""0.05 to 0.99: fixed beforehand, as the guarantee wants it."""
STARTS = (0.9, 0.8, 0.7, 0.6, 0.5)
"""Where the walks downwards begin. Few predictions lie above 0.95, so a single walk from the top would stop at once."""
EXCHANGEABLE = "the labelled tiles and those to come are drawn alike, in the same season, with the same model"


@dataclass(frozen=True)
class RiskControl:
    """A threshold with a promise."""

    threshold: float
    iou_target: float
    good_share: float
    """Wanted share of kept masks whose IoU reaches the target."""
    delta: float
    """Probability that the promise is broken, at most."""
    kept: int
    """Labelled predictions at or above the threshold."""
    good: int
    """Of those, masks whose IoU reaches the target."""
    design_effect: float
    """Variance of the share among units over that of independent predictions, at the threshold; 1 or more."""
    assumption: str = EXCHANGEABLE


def control_risk(
    pairs: Pairs, iou_target: float, *, good_share: float = 0.9, delta: float = 0.1, by_unit: bool = True
) -> RiskControl:
    """The lowest threshold that keeps its promise with probability 1 - delta.

    Args:
        pairs: predictions of the labelled tiles.
        iou_target: y_th.
        good_share: wanted share of kept masks with IoU >= y_th.
        delta: probability of breaking the promise, at most.
        by_unit: count fewer predictions where those of a unit are alike (J. Rao and A. Scott, 1992). Without it the
            p-values are exact, but for independent predictions only.

    Raises:
        CalibrationRefused: no threshold of the grid keeps the promise with these labels.
        SettingsError: shares that are not between 0 and 1.
    """
    require_promise(iou_target, good_share, delta)
    grid = np.array(GRID)
    kept, good, effect = counts_above(pairs, iou_target, grid)
    p_values = share_p_values(kept, good, good_share, effect if by_unit else np.ones_like(effect))
    passed = walk_down(grid, p_values, delta)
    if not passed.any():
        best = int(np.argmin(p_values))
        nearest = f"the nearest is {grid[best]:.2f} with p = {p_values[best]:.3f}"
        what = f"no threshold is sure to keep {100 * good_share:g} % good masks, {nearest}"
        mend = "label more tiles, or ask for a smaller share"
        raise CalibrationRefused(Reason.TARGET_NOT_REACHED, what, mend=mend)
    at = int(np.argmax(passed))
    return RiskControl(
        float(grid[at]),
        iou_target,
        good_share,
        delta,
        int(kept[at]),
        int(good[at]),
        float(effect[at]) if by_unit else 1.0,
    )


def require_promise(iou_target: float, good_share: float, delta: float) -> None:
    """Pass where a promise can be kept and broken.

    Raises:
        SettingsError: a share that is not between 0 and 1.
    """
    for name, share in (("good_share", good_share), ("delta", delta), ("iou_target", iou_target)):
        if not 0 < share < 1:
            raise SettingsError(f"{name} = {share:g}", mend="it lies between 0 and 1")


def counts_above(pairs: Pairs, iou_target: float, grid: Floats) -> tuple[Floats, Floats, Floats]:
    """For every threshold of the grid: predictions kept, good ones among them, and the design effect of the share.

    The design effect is the variance of the ratio good / kept among units over p (1 - p) / kept; at least 1.
    """
    units, codes = pairs.by_unit.number, pairs.by_unit.codes
    bins = np.searchsorted(grid, pairs.confidence, side="right")  # thresholds grid[:bin] keep the prediction
    shape = (units, len(grid) + 1)
    kept_in, good_in = np.zeros(shape), np.zeros(shape)
    np.add.at(kept_in, (codes, bins), 1.0)
    np.add.at(good_in, (codes, bins), (pairs.iou >= iou_target).astype(np.float64))
    kept_by_unit = np.cumsum(kept_in[:, ::-1], axis=1)[:, ::-1][:, 1:]
    good_by_unit = np.cumsum(good_in[:, ::-1], axis=1)[:, ::-1][:, 1:]
    kept, good = kept_by_unit.sum(axis=0), good_by_unit.sum(axis=0)
    seen = np.count_nonzero(kept_by_unit, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = good / kept
        residual = (good_by_unit - share * kept_by_unit) ** 2
        variance = seen / (seen - 1) * residual.sum(axis=0) / kept**2
        effect = variance / (share * (1 - share) / kept)
    return kept, good, np.maximum(np.nan_to_num(effect, nan=1.0, posinf=1.0), 1.0)


def share_p_values(kept: Floats, good: Floats, good_share: float, design_effect: Floats) -> Floats:
    """P(Binomial(kept, good_share) >= good), with kept and good divided by the design effect.

    The binomial tail is the incomplete beta function I(share; good, kept - good + 1), which takes fractions.
    """
    n, k = kept / design_effect, good / design_effect
    with np.errstate(invalid="ignore"):
        tail = betainc(np.maximum(k, 1e-12), n - k + 1, good_share)
    return np.where(k > 0, tail, 1.0)


def walk_down(grid: Floats, p_values: Floats, delta: float) -> np.typing.NDArray[np.bool_]:
    """Which thresholds are rejected by the fallback procedure (B. Wiens, 2003), from the highest downwards.

    Each start brings delta / number of starts; a threshold that is rejected hands its level on to the next one.
    """
    own = np.zeros(len(grid))
    own[[int(np.searchsorted(grid, start - 1e-9)) for start in STARTS]] = delta / len(STARTS)
    passed = np.zeros(len(grid), np.bool_)
    level = 0.0
    for at in range(len(grid) - 1, -1, -1):
        level += float(own[at])
        passed[at] = p_values[at] <= level
        if not passed[at]:
            level = 0.0
    return passed
