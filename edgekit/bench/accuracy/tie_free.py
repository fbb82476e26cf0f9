"""AP from edgekit's own matching: for resampled pictures, and in a form that no order of tied scores can move."""

from __future__ import annotations

import numpy as np

from edgekit.bench.accuracy.curve import average_precision, curve
from edgekit.bench.accuracy.match import Matching, match
from edgekit.bench.accuracy.objects import Floats, Predictions, Truth
from edgekit.bench.accuracy.overlap import Overlaps

IOU_STEPS = np.linspace(0.5, 0.95, 10)
"""COCO's IoU thresholds."""
IOU_STEPS.setflags(write=False)


def ap_from_matching(
    truth: Truth,
    predictions: Predictions,
    matching: Matching,
    *,
    by_score: bool = False,
    picture_weights: Floats | None = None,
) -> float | None:
    """Mean over classes of the average precision; None where no class has labels.

    Args:
        truth: the labels.
        predictions: the predictions.
        matching: at the IoU threshold that is wanted. Unlike COCO's, it sees more than 100 predictions a picture.
        by_score: one point of the curve a distinct score, see `curve`.
        picture_weights: P, how often each picture counts.
    """
    weights = np.ones(len(truth.picture_names)) if picture_weights is None else picture_weights
    order = predictions.order[~matching.ignored[predictions.order]]
    hit, scores, label = matching.hit[order], predictions.scores[order], predictions.label[order]
    weight = weights[predictions.picture[order]]
    values = []
    for number in range(len(truth.class_names)):
        labels = weights[truth.picture[(truth.label == number) & ~truth.ignore]].sum()
        if labels > 0:
            mine = label == number
            values.append(average_precision(curve(hit[mine], scores[mine], labels, weight[mine], by_score=by_score)))
    return float(np.mean(values)) if values else None


def tie_free_ap(truth: Truth, predictions: Predictions, overlaps: Overlaps, iou: Floats) -> float | None:
    """AP over IoU 0.5 to 0.95 in which the order of predictions of one score plays no part.

    Among tied predictions the highest IoU chooses first, and the curve has one point a distinct score. COCO's own AP
    moves with the order of ties (cocoapi#678): this one does not, and equals it up to interpolation where there are no
    ties.
    """
    steps = [
        ap_from_matching(
            truth, predictions, match(truth, predictions, overlaps, iou, at=float(at), tie_free=True), by_score=True
        )
        for at in IOU_STEPS
    ]
    defined = [step for step in steps if step is not None]
    return float(np.mean(defined)) if defined else None
