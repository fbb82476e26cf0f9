"""Counting figures with ignored regions, in the manner of the EgoMaize benchmark (arXiv 2609.12350).

Pixels in ignored regions are taken out of labels and predictions, so they are in no intersection and in no union; a
prediction or label of which less than half is left takes no part. The same figures with the regions as background are
given beside them, since a benchmark that ignores much looks better than it is. AP25 and AP50 are TP / (TP + FP + FN).
The weights of EgoMaize's image difficulty score are not public; `difficulty` is edgekit's own and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from edgekit.bench.accuracy.match import Matching, match
from edgekit.bench.accuracy.objects import Bools, Floats, Predictions, Truth
from edgekit.bench.accuracy.overlap import Overlaps, find_overlaps
from edgekit.bench.accuracy.pixels import without
from edgekit.contracts import MaskCrop
from edgekit.masks import union

LEAST_LEFT = 0.5
"""Share of an object outside ignored regions from which it still takes part."""
OCCLUSION_KEYS = ("occlusion", "occluded")
"""Attributes of a label that tell its occlusion."""
SMALL_PX = 32 * 32
"""COCO's limit of small objects."""
CROWDED_AT = 10
"""Labels at which a picture is half as crowded as can be."""


@dataclass(frozen=True)
class CountingFigures:
    """Figures at one threshold; None where undefined."""

    mean_iou: float | None
    """Mean IoU of the pairs matched at IoU 0.5."""
    ap25: float | None
    ap50: float | None
    count_error: float | None
    """Mean over pictures of |predictions - labels|."""
    count_bias: float | None
    """(predictions - labels) / labels over all pictures: negative is too few."""
    centre_distance_px: float | None
    """Mean distance of the box centres of the pairs matched at IoU 0.5."""
    recall_by_occlusion: Mapping[str, tuple[float, int]]
    """Level -> share found at IoU 0.5, number of labels."""


@dataclass(frozen=True)
class IgnoreAware:
    """Both treatments of ignored regions, and how difficult each picture is."""

    ignoring: CountingFigures
    as_background: CountingFigures
    difficulty: tuple[float, ...]
    """One a picture, 0 easy to 1 hard, see `difficulty`."""


def ignore_aware(truth: Truth, predictions: Predictions, *, threshold: float) -> IgnoreAware | None:
    """Counting figures of the predictions with score >= `threshold`; None where masks were not predicted."""
    if predictions.masks is None:
        return None
    kept = _rows(predictions, predictions.scores >= threshold)
    counted = _labels(truth, ~truth.ignore)
    regions = [union([truth.masks[j] for j in np.flatnonzero(truth.ignore & (truth.picture == picture))])
               for picture in range(len(truth.picture_names))]  # fmt: skip
    cut_labels, labels_left = _cut(counted.masks, counted.picture, regions)
    cut_found, found_left = _cut(kept.masks or (), kept.picture, regions)
    return IgnoreAware(
        _figures(_labels(counted, labels_left, cut_labels), _rows(kept, found_left, cut_found)),
        _figures(counted, kept),
        difficulty(truth),
    )


def difficulty(truth: Truth) -> tuple[float, ...]:
    """Difficulty of each picture: the mean of four shares, all between 0 and 1.

    Small objects (under 32 x 32 px), occluded objects (an attribute that says neither none, no, 0 nor false),
    crowding n / (n + 10), and the share of labels that touch another label's box. 0 for a picture without labels.
    """
    occluded = np.array(
        [_occlusion(attributes) not in ("none", "unknown") for attributes in truth.attributes], np.bool_
    )
    scores = []
    for picture in range(len(truth.picture_names)):
        rows = np.flatnonzero((truth.picture == picture) & ~truth.ignore)
        if not len(rows):
            scores.append(0.0)
            continue
        boxes = truth.boxes_xyxy[rows]
        low = np.maximum(boxes[:, None, :2], boxes[None, :, :2])
        high = np.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
        touching = ((high > low).all(axis=2).sum(axis=1) > 1).mean()
        small = (truth.mask_areas_px[rows] < SMALL_PX).mean()
        parts = (small, occluded[rows].mean(), len(rows) / (len(rows) + CROWDED_AT), touching)
        scores.append(float(np.mean(parts)))
    return tuple(scores)


def _figures(truth: Truth, found: Predictions) -> CountingFigures:
    overlaps = find_overlaps(truth, found)
    quarter, half = (match(truth, found, overlaps, overlaps.mask_iou, at=at) for at in (0.25, 0.5))
    pictures = len(truth.picture_names)
    difference = np.bincount(found.picture, minlength=pictures) - np.bincount(truth.picture, minlength=pictures)
    hits = np.flatnonzero(half.hit)
    centres = [(box[:, :2] + box[:, 2:]) / 2 for box in (found.boxes_xyxy, truth.boxes_xyxy)]
    distance = np.linalg.norm(centres[0][hits] - centres[1][half.truth[hits]], axis=1)
    return CountingFigures(
        _mean(_matched_iou(overlaps, half)), _jaccard(quarter, truth), _jaccard(half, truth),
        _mean(np.abs(difference)), float(difference.sum() / len(truth)) if len(truth) else None, _mean(distance),
        _by_occlusion(truth, half),
    )  # fmt: skip


def _matched_iou(overlaps: Overlaps, matching: Matching) -> Floats:
    return np.asarray(overlaps.mask_iou[matching.truth[overlaps.prediction] == overlaps.truth])


def _jaccard(matching: Matching, truth: Truth) -> float | None:
    hits = int(matching.hit.sum())
    whole = len(matching.truth) + len(truth) - hits
    return hits / whole if whole else None


def _by_occlusion(truth: Truth, matching: Matching) -> dict[str, tuple[float, int]]:
    found = np.zeros(len(truth), np.bool_)
    found[matching.truth[matching.hit]] = True
    levels = np.array([_occlusion(attributes) for attributes in truth.attributes], object)
    return {
        str(level): (float(found[levels == level].mean()), int((levels == level).sum()))
        for level in sorted(set(levels)) if level != "unknown"
    }  # fmt: skip


def _occlusion(attributes: Mapping[str, str]) -> str:
    value = next((attributes[key] for key in OCCLUSION_KEYS if key in attributes), "unknown").strip().lower()
    return {"0": "none", "no": "none", "false": "none", "1": "yes", "true": "yes", "": "unknown"}.get(value, value)


def _cut(
    masks: tuple[MaskCrop, ...], picture: np.ndarray, regions: list[MaskCrop]
) -> tuple[tuple[MaskCrop, ...], Bools]:
    cut = tuple(without(mask, regions[number]) for mask, number in zip(masks, picture.tolist(), strict=True))
    before = np.array([mask.area_px for mask in masks], np.float64)
    after = np.array([mask.area_px for mask in cut], np.float64)
    return cut, (after >= LEAST_LEFT * before) & (after > 0)


def _labels(truth: Truth, rows: Bools, masks: tuple[MaskCrop, ...] | None = None) -> Truth:
    chosen = np.flatnonzero(rows)
    source = truth.masks if masks is None else masks
    return replace(
        truth, picture=truth.picture[chosen], label=truth.label[chosen], boxes_xyxy=truth.boxes_xyxy[chosen],
        masks=tuple(source[i] for i in chosen), areas_px=truth.areas_px[chosen], crowd=truth.crowd[chosen],
        ignore=truth.ignore[chosen], attributes=tuple(truth.attributes[i] for i in chosen),
    )  # fmt: skip


def _rows(predictions: Predictions, rows: Bools, masks: tuple[MaskCrop, ...] | None = None) -> Predictions:
    chosen = np.flatnonzero(rows)
    source = predictions.masks if masks is None else masks
    return Predictions(
        predictions.picture[chosen], predictions.label[chosen], predictions.boxes_xyxy[chosen],
        predictions.scores[chosen], None if source is None else tuple(source[i] for i in chosen),
    )  # fmt: skip


def _mean(values: Floats) -> float | None:
    return float(np.mean(values)) if len(values) else None
