"""The pictures in which a model does worst: misses, false alarms, and objects found with a poor outline."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgekit.bench.accuracy.evaluate import CoreAccuracy
from edgekit.bench.accuracy.objects import Predictions, Truth

POOR_IOU = 0.7
"""A hit below this mask IoU has a poor outline."""
MOST_PICTURES = 8


def worst_pictures(
    truth: Truth, predictions: Predictions, core: CoreAccuracy, threshold: float
) -> list[dict[str, Any]]:
    """Up to eight pictures, the worst first, with the rows of labels and predictions to draw.

    A miss or a false alarm weighs 1, a poor outline one half; pictures without any of them are left out.
    """
    kind = core.mask or core.box
    iou = core.overlaps.mask_iou if core.mask else core.overlaps.box_iou
    kept = predictions.scores >= threshold
    hit = kind.matching.hit & kept
    found = np.zeros(len(truth), np.bool_)
    found[kind.matching.truth[hit]] = True
    agreement = np.zeros(len(predictions))
    pairs = kind.matching.truth[core.overlaps.prediction] == core.overlaps.truth
    agreement[core.overlaps.prediction[pairs]] = iou[pairs]
    missed = ~found & ~truth.ignore
    false = kept & ~hit & ~kind.matching.ignored
    poor = hit & (agreement < POOR_IOU)
    pictures = len(truth.picture_names)
    weight = (
        np.bincount(truth.picture[missed], minlength=pictures)
        + np.bincount(predictions.picture[false], minlength=pictures)
        + 0.5 * np.bincount(predictions.picture[poor], minlength=pictures)
    )
    order = np.argsort(-weight, kind="stable")[:MOST_PICTURES]
    return [
        {
            "picture": truth.picture_names[number],
            "index": int(number),
            "missed": _rows(missed & (truth.picture == number)),
            "found": _rows(hit & ~poor & (predictions.picture == number)),
            "false_alarms": _rows(false & (predictions.picture == number)),
            "poor_outlines": _rows(poor & (predictions.picture == number)),
        }
        for number in order.tolist()
        if weight[number] > 0
    ]


def _rows(chosen: Any) -> list[int]:
    return [int(row) for row in np.flatnonzero(chosen)]
