"""The one pass over all pairs of a prediction and a label that touch; every figure reads its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgekit.bench.accuracy.objects import EVERY_CLASS, Floats, Ints, Predictions, Truth
from edgekit.contracts import MaskCrop
from edgekit.masks import intersection_area_px


@dataclass(frozen=True, eq=False)
class Overlaps:
    """M pairs of one picture and one class whose masks or boxes share area."""

    prediction: Ints
    """M: row in `Predictions`."""
    truth: Ints
    """M: row in `Truth`."""
    shared_px: Floats
    """M: pixels that both masks have; zeros where masks were not predicted."""
    mask_iou: Floats
    """M; for a crowd the share of the prediction that lies in it, as in COCO."""
    box_iou: Floats
    """M; likewise."""


def find_overlaps(truth: Truth, predictions: Predictions) -> Overlaps:
    """All pairs that touch, in the order of predictions and then of labels."""
    first, second = _pairs(truth, predictions)
    shared = np.zeros(len(first))
    if predictions.masks is not None:
        touching = _crops_touch(predictions.masks, truth.masks, first, second)
        found = predictions.masks
        shared[touching] = [
            intersection_area_px(found[i], truth.masks[j])
            for i, j in zip(first[touching].tolist(), second[touching].tolist(), strict=True)
        ]
    crowd = truth.crowd[second]
    mask_iou = _ratio(shared, predictions.mask_areas_px[first], truth.mask_areas_px[second], crowd)
    box_iou = _box_iou(predictions.boxes_xyxy[first], truth.boxes_xyxy[second], crowd)
    kept = (mask_iou > 0) | (box_iou > 0)
    return Overlaps(first[kept], second[kept], shared[kept], mask_iou[kept], box_iou[kept])


def _pairs(truth: Truth, predictions: Predictions) -> tuple[Ints, Ints]:
    """Every prediction with every label of its picture and class."""
    if not len(truth) or not len(predictions):
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    pictures = len(truth.picture_names)
    by_picture = np.argsort(truth.picture, kind="stable")
    count = np.bincount(truth.picture, minlength=pictures)
    start = np.concatenate([[0], np.cumsum(count)[:-1]])
    width = count[predictions.picture]
    first = np.repeat(np.arange(len(predictions)), width)
    within = np.arange(len(first)) - np.repeat(np.cumsum(width) - width, width)
    second = by_picture[start[predictions.picture[first]] + within]
    same = (truth.label[second] == predictions.label[first]) | (truth.label[second] == EVERY_CLASS)
    return first[same], second[same]


def _crops_touch(
    found: Sequence[MaskCrop], labelled: Sequence[MaskCrop], first: Ints, second: Ints
) -> npt.NDArray[np.bool_]:
    a, b = _bounds(found)[first], _bounds(labelled)[second]
    low, high = np.maximum(a[:, :2], b[:, :2]), np.minimum(a[:, 2:], b[:, 2:])
    return np.asarray((high > low).all(axis=1))


def _bounds(masks: Sequence[MaskCrop]) -> npt.NDArray[np.int64]:
    corners = [(m.x_px, m.y_px, m.x_px + m.plane.shape[1], m.y_px + m.plane.shape[0]) for m in masks]
    return np.array(corners, np.int64).reshape(-1, 4)


def _box_iou(a: Floats, b: Floats, crowd: npt.NDArray[np.bool_]) -> Floats:
    size = np.maximum(np.minimum(a[:, 2:], b[:, 2:]) - np.maximum(a[:, :2], b[:, :2]), 0)
    return _ratio(size.prod(axis=1), (a[:, 2:] - a[:, :2]).prod(axis=1), (b[:, 2:] - b[:, :2]).prod(axis=1), crowd)


def _ratio(shared: Floats, found: Floats, labelled: Floats, crowd: npt.NDArray[np.bool_]) -> Floats:
    whole = np.where(crowd, found, found + labelled - shared)
    return np.divide(shared, whole, out=np.zeros_like(shared), where=whole > 0)
