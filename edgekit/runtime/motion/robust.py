"""One value from many that disagree, some of them wildly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edgekit.contracts import FloatArray

_CUT = 4.0
"""Deviations beyond so many scales count nothing."""
_STEPS = 5
_LEAST_SCALE = 0.02


class Agreement(NamedTuple):
    """What the values agree on."""

    value: float
    scale: float
    """Spread of the values that agree, as a standard deviation."""
    share: float
    """Weight of those that agree among all, 0 to 1."""


def agree(values: FloatArray, weights: FloatArray) -> Agreement:
    """Tukey's biweight from the weighted median: as good as the mean where all agree, deaf to a third that do not.

    Args:
        values: N >= 1 values.
        weights: N weights above 0.
    """
    centre = weighted_median(values, weights)
    scale = max(1.4826 * weighted_median(np.abs(values - centre), weights), _LEAST_SCALE)
    for _ in range(_STEPS):
        ratio = (values - centre) / (_CUT * scale)
        trust = weights * np.where(np.abs(ratio) < 1, (1 - ratio**2) ** 2, 0.0)
        centre = float((trust * values).sum() / trust.sum())
    inside = np.abs(values - centre) < 2.5 * scale
    return Agreement(centre, scale, float(weights[inside].sum() / weights.sum()))


def weighted_median(values: FloatArray, weights: FloatArray) -> float:
    """The value at which half of the weight is reached."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][int(np.searchsorted(reached, reached[-1] / 2))])
