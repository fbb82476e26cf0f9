"""Precision, recall and accuracy of pixels, averaged over classes, as EdgeFirst Validator reports them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.bench.accuracy.objects import EVERY_CLASS, Floats, Predictions, Truth
from edgekit.contracts import MaskCrop
from edgekit.masks import intersection_area_px, trim, union


@dataclass(frozen=True)
class ClassMeans:
    """Means over the classes that have labels or predictions; None where none has."""

    precision: float | None
    """Mean of TP / (TP + FP); EdgeFirst prints it as AP."""
    recall: float | None
    """Mean of TP / (TP + FN); EdgeFirst's AR."""
    accuracy: float | None
    """Mean of TP / (TP + FP + FN); EdgeFirst's aACC."""


def class_means(right: Floats, wrong: Floats, missed: Floats) -> ClassMeans:
    """Means over classes of precision, recall and accuracy (EdgeFirst Validator, "Metrics").

    Args:
        right: C, true positives of each class (pixels or objects).
        wrong: C, false positives.
        missed: C, false negatives.
    """
    used = right + wrong + missed > 0
    r, w, m = right[used], wrong[used], missed[used]
    if not len(r):
        return ClassMeans(None, None, None)
    parts = (_share(r, r + w), _share(r, r + m), r / (r + w + m))
    return ClassMeans(*(float(part.mean()) for part in parts))


def pixel_means(truth: Truth, predictions: Predictions, *, threshold: float) -> ClassMeans:
    """Pixel figures at one threshold: of each class the union of its masks counts; pixels in ignored regions do not."""
    counts = np.zeros((3, len(truth.class_names)))
    if predictions.masks is None:
        return ClassMeans(None, None, None)
    kept = predictions.scores >= threshold
    found = _grouped(predictions.picture, predictions.label, predictions.masks, np.flatnonzero(kept))
    labelled = _grouped(truth.picture, truth.label, truth.masks, np.flatnonzero(~truth.ignore))
    ignored = _grouped(truth.picture, truth.label, truth.masks, np.flatnonzero(truth.ignore))
    for picture, label in sorted(found.keys() | labelled.keys()):
        regions = ignored.get((picture, label), []) + ignored.get((picture, EVERY_CLASS), [])
        out = union(regions)
        p = without(union(found.get((picture, label), [])), out)
        g = without(union(labelled.get((picture, label), [])), out)
        shared = intersection_area_px(p, g)
        counts[:, label] += shared, p.area_px - shared, g.area_px - shared
    return class_means(*counts)


def without(mask: MaskCrop, removed: MaskCrop) -> MaskCrop:
    """The pixels of a mask that another does not have."""
    plane = mask.plane.copy()
    x0, y0 = max(mask.x_px, removed.x_px), max(mask.y_px, removed.y_px)
    x1 = min(mask.x_px + plane.shape[1], removed.x_px + removed.plane.shape[1])
    y1 = min(mask.y_px + plane.shape[0], removed.y_px + removed.plane.shape[0])
    if x1 <= x0 or y1 <= y0:
        return mask
    inside = plane[y0 - mask.y_px : y1 - mask.y_px, x0 - mask.x_px : x1 - mask.x_px]
    inside &= ~removed.plane[y0 - removed.y_px : y1 - removed.y_px, x0 - removed.x_px : x1 - removed.x_px]
    return trim(MaskCrop(plane, mask.x_px, mask.y_px))


def _grouped(
    picture: np.ndarray, label: np.ndarray, masks: Sequence[MaskCrop], rows: np.ndarray
) -> dict[tuple[int, int], list[MaskCrop]]:
    groups: dict[tuple[int, int], list[MaskCrop]] = {}
    for row in rows.tolist():
        groups.setdefault((int(picture[row]), int(label[row])), []).append(masks[row])
    return groups


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
