"""One value from many that disagree, some of them wildly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from edgekit.contracts import FloatArray

_CUT = 4.0
"""Deviations beyond so many scales count nothing."""
_STEPS = 5
_LEAST_SCALE = 0.02


class Agreement(NamedTuple):
    """What the values agree on."""

    value: float
    share: float
    """Weight of those that agree among all, 0 to 1."""


def agree(values: FloatArray, weights: FloatArray, start: npt.NDArray[np.bool_] | None = None) -> Agreement:
    """Tukey's biweight from the weighted median: as good as the mean where all agree, deaf to a third that do not.

    Args:
        values: N >= 1 values.
        weights: N weights above 0.
        start: N, those that give the median and the scale to start from (see `hill`); by default all.
    """
    first, trust = (values, weights) if start is None else (values[start], weights[start])
    centre = weighted_median(first, trust)
    scale = max(1.4826 * weighted_median(np.abs(first - centre), trust), _LEAST_SCALE)
    for _ in range(_STEPS):
        ratio = (values - centre) / (_CUT * scale)
        trust = weights * np.where(np.abs(ratio) < 1, (1 - ratio**2) ** 2, 0.0)
        centre = float((trust * values).sum() / trust.sum())
    inside = np.abs(values - centre) < 2.5 * scale
    return Agreement(centre, float(weights[inside].sum() / weights.sum()))


def hill(values: FloatArray, weights: FloatArray, share: float, least: float) -> npt.NDArray[np.bool_]:
    """The values of the heaviest hill: N, true within `share` of one of the values, or within `least` of it.

    Where values gather in two places, the median of all lies in neither or between them.

    Args:
        values: N >= 1 values.
        weights: N weights above 0.
        share: half the width of a hill, as a share of its middle.
        least: least half width.
    """
    order = np.argsort(values, kind="stable")
    middle = values[order]
    half = np.maximum(share * np.abs(middle), least)
    reached = np.concatenate(([0.0], np.cumsum(weights[order])))
    first, after = np.searchsorted(middle, middle - half, "left"), np.searchsorted(middle, middle + half, "right")
    best = int((reached[after] - reached[first]).argmax())
    return np.asarray(np.abs(values - middle[best]) <= half[best])


def weighted_median(values: FloatArray, weights: FloatArray) -> float:
    """The value at which half of the weight is reached."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][int(np.searchsorted(reached, reached[-1] / 2))])
