"""Precision against recall, and COCO's average precision, from hits in the order of their scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgekit.bench.accuracy.objects import Bools, Floats

RECALL_POINTS = np.linspace(0.0, 1.0, 101)
"""COCO reads the precision at these recalls."""
RECALL_POINTS.setflags(write=False)


@dataclass(frozen=True, eq=False)
class Curve:
    """A precision-recall curve, from the highest score to the lowest."""

    scores: Floats
    precision: Floats
    recall: Floats


def curve(hit: Bools, scores: Floats, labels: float, weights: Floats | None = None, *, by_score: bool = False) -> Curve:
    """Precision and recall after each prediction.

    Args:
        hit: right or wrong, scores descending; ignored predictions left out.
        scores: their scores.
        labels: number (or weight) of the objects that should be found, above 0.
        weights: how often each prediction counts, for resampled pictures.
        by_score: give one point a distinct score only, so that the order of ties plays no part.
    """
    weight = np.ones(len(hit)) if weights is None else weights
    right, seen = np.cumsum(hit * weight), np.cumsum(weight)
    last = np.append(scores[1:] != scores[:-1], True) if by_score and len(scores) else np.ones(len(scores), np.bool_)
    right, seen, kept = right[last], seen[last], scores[last]
    precision = np.divide(right, seen, out=np.zeros_like(right), where=seen > 0)
    return Curve(kept, precision, right / labels)


def average_precision(points: Curve) -> float:
    """Mean over 101 recalls of the best precision at that recall or above (COCO's `accumulate`)."""
    best = np.maximum.accumulate(points.precision[::-1])[::-1]
    at = np.searchsorted(points.recall, RECALL_POINTS, side="left")
    return float(np.append(best, 0.0)[np.minimum(at, len(best))].mean())
