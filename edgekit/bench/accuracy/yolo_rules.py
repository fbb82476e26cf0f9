"""mAP, precision, recall and F1 by the rules of Ultralytics and YOLOv7, which differ from COCO's and from each other.

All take the area under 101 interpolated points by the trapezium rule (COCO: the mean of 101 steps). They differ in what
follows the last recall: Ultralytics up to 8.3 draws a line down to precision 0 at recall 1, so that 5 of 10 objects
found without a false alarm give .75; YOLOv7 falls to 0 within 0.01; Ultralytics 8.4 at once, which gives .495 (COCO:
.505). In YOLOv7, and in Ultralytics up to 8.3, a prediction wants its best label only; from 8.4 on it takes the best
that is free, as in COCO. Precision, recall and F1 are those at the confidence of the highest mean F1. Sources:
`match_predictions`, `ap_per_class` and `compute_ap` of ultralytics 8.3 and 8.4.190 (`utils/metrics.py`,
`engine/validator.py`) and of YOLOv7 (`test.py`, `utils/metrics.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from edgekit.bench.accuracy.match import match
from edgekit.bench.accuracy.objects import Bools, Floats, Ints, Predictions, Truth
from edgekit.bench.accuracy.overlap import Overlaps

Rule = Literal["ultralytics", "ultralytics_8_3", "yolov7"]
RULES: tuple[Rule, ...] = ("ultralytics", "ultralytics_8_3", "yolov7")
IOU_STEPS = np.linspace(0.5, 0.95, 10)
IOU_STEPS.setflags(write=False)
_GRID = np.linspace(0, 1, 1000)
_EPS = 1e-16
MAX_DETECTIONS = 300
"""Both evaluate at most this many predictions a picture."""


@dataclass(frozen=True)
class YoloFigures:
    """Figures as the tool would print them; None where no class has labels."""

    rule: Rule
    map50: float | None
    map50_95: float | None
    precision: float | None
    recall: float | None
    f1: float | None
    confidence: float | None
    """Where precision, recall and F1 are read."""


def yolo_figures(truth: Truth, predictions: Predictions, overlaps: Overlaps, iou: Floats, *, rule: Rule) -> YoloFigures:
    """Figures of one rule on one kind of IoU (a column of `overlaps`).

    The tools know neither crowds nor ignored objects; here what matches one at IoU 0.5 takes no part.
    """
    order = _best_of_each_picture(predictions)
    order = order[~match(truth, predictions, overlaps, iou, at=0.5).ignored[order]]
    if rule == "ultralytics":
        steps = [match(truth, predictions, overlaps, iou, at=float(step)).hit[order] for step in IOU_STEPS]
        correct = np.stack(steps, axis=1)
    else:
        correct = _best_only(truth, predictions, (overlaps, iou), order, rule)
    classes = np.unique(truth.label[~truth.ignore & (truth.label >= 0)])
    if not len(classes):
        return YoloFigures(rule, None, None, None, None, None, None)
    scores, label = predictions.scores[order], predictions.label[order]
    ap = np.zeros((len(classes), len(IOU_STEPS)))
    curves = np.zeros((2, len(classes), len(_GRID)))
    for row, number in enumerate(classes):
        mine = label == number
        labels = int(np.count_nonzero((truth.label == number) & ~truth.ignore))
        if mine.any():
            ap[row], curves[0, row], curves[1, row] = _one_class(correct[mine], scores[mine], labels, rule)
    f1 = 2 * curves[0] * curves[1] / (curves[0] + curves[1] + _EPS)
    mean = f1.mean(axis=0)
    at = int((_smooth(mean, 0.1) if rule != "yolov7" else mean).argmax())
    precision, recall = curves[:, :, at].mean(axis=1)
    return YoloFigures(
        rule, float(ap[:, 0].mean()), float(ap.mean()), float(precision), float(recall), float(f1[:, at].mean()),
        float(_GRID[at]),
    )  # fmt: skip


def _best_of_each_picture(predictions: Predictions) -> Ints:
    order = predictions.order
    picture = predictions.picture[order]
    by_picture = np.argsort(picture, kind="stable")
    count = np.bincount(picture, minlength=1)
    place = np.empty(len(order), np.intp)
    place[by_picture] = np.arange(len(order)) - np.repeat(np.cumsum(count) - count, count)
    return order[place < MAX_DETECTIONS]


def _best_only(
    truth: Truth, predictions: Predictions, pairs: tuple[Overlaps, Floats], order: Ints, rule: Rule
) -> Bools:
    """N x 10 in the order of scores: right at each IoU step, where each prediction wants its best label only."""
    overlaps, iou = pairs
    counted = ~truth.ignore[overlaps.truth]
    found, labelled, value = overlaps.prediction[counted], overlaps.truth[counted], iou[counted]
    wanted, best = np.full(len(predictions), -1, np.intp), np.zeros(len(predictions))
    by_iou = np.lexsort((labelled, -value, found))
    first = by_iou[np.unique(found[by_iou], return_index=True)[1]]
    wanted[found[first]], best[found[first]] = labelled[first], value[first]
    wanted, best = wanted[order], best[order]
    correct = np.zeros((len(order), len(IOU_STEPS)), np.bool_)
    if rule == "yolov7":
        rows = np.flatnonzero((wanted >= 0) & (best > IOU_STEPS[0]))
        winners = rows[np.unique(wanted[rows], return_index=True)[1]]
        correct[winners] = best[winners, None] > IOU_STEPS
        return correct
    for step, needed in enumerate(IOU_STEPS):
        rows = np.flatnonzero((wanted >= 0) & (best >= needed))
        correct[rows[np.unique(wanted[rows], return_index=True)[1]], step] = True
    return correct


def _one_class(correct: Bools, scores: Floats, labels: int, rule: Rule) -> tuple[Floats, Floats, Floats]:
    """AP at each IoU step, and precision and recall at IoU 0.5 over a grid of confidences."""
    right, wrong = correct.cumsum(axis=0), (~correct).cumsum(axis=0)
    recall, precision = right / (labels + _EPS), right / (right + wrong)
    over_recall = np.interp(-_GRID, -scores, recall[:, 0], left=0)
    over_precision = np.interp(-_GRID, -scores, precision[:, 0], left=1)
    ap = np.array([_area(recall[:, step], precision[:, step], rule) for step in range(len(IOU_STEPS))])
    return ap, over_precision, over_recall


def _area(recall: Floats, precision: Floats, rule: Rule) -> float:
    tail = {"ultralytics": [recall[-1], 1.0], "ultralytics_8_3": [1.0], "yolov7": [recall[-1] + 0.01]}[rule]
    x = np.concatenate([[0.0], recall, tail])
    y = np.concatenate([[1.0], precision, np.zeros(len(tail))])
    y = np.maximum.accumulate(y[::-1])[::-1]
    points = np.linspace(0, 1, 101)
    values = np.interp(points, x, y)
    return float(((values[1:] + values[:-1]) / 2 * np.diff(points)).sum())


def _smooth(values: Floats, share: float) -> Floats:
    """Box filter over a share of the grid, its ends repeated (ultralytics' `smooth`)."""
    width = round(len(values) * share * 2) // 2 + 1
    edge = np.ones(width // 2)
    padded = np.concatenate([edge * values[0], values, edge * values[-1]])
    smoothed: Floats = np.convolve(padded, np.ones(width) / width, mode="valid")
    return smoothed
