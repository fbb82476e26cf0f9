"""The thresholds of the sweeps, and how columns in the order of scores are read at each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgekit.bench.accuracy.objects import Floats, Ints, Predictions

THRESHOLDS = np.round(np.arange(5, 100) / 100, 2)
"""0.05 to 0.99 by 0.01, as in the paper: 95 of them."""
THRESHOLDS.setflags(write=False)


def count_kept(predictions: Predictions, thresholds: Floats = THRESHOLDS) -> Ints:
    """How many predictions have score >= threshold, for each threshold."""
    ascending = predictions.scores[predictions.order][::-1]
    return len(predictions) - np.searchsorted(ascending, thresholds, side="left")


def by_picture(values: Floats, picture: Ints, kept: Ints, pictures: int) -> Floats:
    """Sums of the first `kept` values of each picture: P x thresholds. Values are in the order of scores."""
    step = np.searchsorted(kept[::-1], np.arange(len(values)), side="right")  # thresholds that come before it, reversed
    column = len(kept) - 1 - step
    inside = column >= 0
    table = np.zeros((pictures, len(kept)))
    np.add.at(table, (picture[inside], column[inside]), values[inside])
    return np.cumsum(table[:, ::-1], axis=1)[:, ::-1]


@dataclass(frozen=True, eq=False)
class Best:
    """The highest point of a sweep."""

    value: float
    threshold: float


def best_of(values: Floats, thresholds: Floats = THRESHOLDS) -> Best | None:
    """The highest value and its threshold (the lowest one, among equals); None where nothing is defined."""
    if not len(values) or not np.isfinite(values).any():
        return None
    index = int(np.nanargmax(values))
    return Best(float(values[index]), float(thresholds[index]))
