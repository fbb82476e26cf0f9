"""Confidence against segmentation quality: Pearson R over all predictions, and the segmentation reliability diagram."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgekit.bench.accuracy.match import Matching
from edgekit.bench.accuracy.objects import Floats, Ints, Predictions, Truth
from edgekit.bench.accuracy.overlap import Overlaps
from edgekit.calibration.correlation import correlation_p_value, fisher_interval

BIN_EDGES = np.linspace(0.0, 1.0, 11)
"""Ten bins of confidence for the diagram."""
BIN_EDGES.setflags(write=False)
MIN_IN_BIN = 10
"""A bin with fewer predictions shows no mean: it would be noise."""


@dataclass(frozen=True, eq=False)
class Reliability:
    """Pairs of confidence and best mask IoU, and how well they agree."""

    confidence: Floats
    """n: scores at or above the floor, in the order of scores."""
    best_iou: Floats
    """n: best mask IoU over the labels of the picture and class, 0 for none."""
    picture: Ints
    """n."""
    r: float | None
    """Pearson's R with its sign; None with fewer than 2 pairs or without spread."""
    r_squared: float | None
    r_interval: tuple[float, float] | None
    """95 %, by Fisher's transformation, as if predictions were independent."""
    p_value: float | None
    bins: tuple[tuple[float, float, int, float | None], ...]
    """Low edge, high edge, number of predictions, their mean IoU (None below `MIN_IN_BIN`)."""

    @property
    def n(self) -> int:
        """Number of pairs."""
        return len(self.confidence)


def reliability(
    truth: Truth, predictions: Predictions, overlaps: Overlaps, matching: Matching, *, floor: float = 0.05
) -> Reliability:
    """The paper's R: every prediction with score >= `floor` against its best mask IoU, unmatched ones with 0.

    Predictions that match a crowd or an ignored object are left out.
    """
    best = best_mask_iou(truth, predictions, overlaps)
    rows = predictions.order
    rows = rows[(predictions.scores[rows] >= floor) & ~matching.ignored[rows]]
    x, y = predictions.scores[rows], best[rows]
    r = pearson(x, y)
    bins = []
    index = np.clip(np.searchsorted(BIN_EDGES, x, side="right") - 1, 0, len(BIN_EDGES) - 2)
    for number in range(len(BIN_EDGES) - 1):
        inside = y[index == number]
        mean = float(inside.mean()) if len(inside) >= MIN_IN_BIN else None
        bins.append((float(BIN_EDGES[number]), float(BIN_EDGES[number + 1]), len(inside), mean))
    return Reliability(
        x, y, predictions.picture[rows], r, None if r is None else r * r,
        None if r is None else fisher_interval(r, len(x)), None if r is None else correlation_p_value(r, len(x)),
        tuple(bins),
    )  # fmt: skip


def best_mask_iou(truth: Truth, predictions: Predictions, overlaps: Overlaps) -> Floats:
    """Best mask IoU of each prediction over the labels that count; 0 for none."""
    counted = ~truth.ignore[overlaps.truth]
    best = np.zeros(len(predictions))
    np.maximum.at(best, overlaps.prediction[counted], overlaps.mask_iou[counted])
    return best


def pearson(x: Floats, y: Floats, weights: Floats | None = None) -> float | None:
    """Pearson's correlation, each pair as often as its weight; None without spread in either."""
    weight = np.ones(len(x)) if weights is None else weights
    total = weight.sum()
    if total < 2:
        return None
    dx, dy = x - (weight @ x) / total, y - (weight @ y) / total
    spread = float(np.sqrt((weight @ dx**2) * (weight @ dy**2)))
    # Rounding leaves a spread of about 1e-16 a value where all values are equal.
    return float(np.clip((weight @ (dx * dy)) / spread, -1, 1)) if spread > 1e-12 * total else None
