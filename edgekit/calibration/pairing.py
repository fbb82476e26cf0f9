"""Pair every prediction of a tile with its best mask IoU over the labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from edgekit.calibration.pairs import Pairs
from edgekit.contracts import Instances, MaskCrop
from edgekit.labels import LabelledInstance
from edgekit.masks import intersection_area_px, iou

CROWD_SHARE = 0.5
"""A prediction with at least this share of its pixels in a crowd or ignored region is neither right nor wrong."""


class TilePairs(NamedTuple):
    """The pairs of one tile, and what was left out."""

    pairs: Pairs
    rows: npt.NDArray[np.intp]
    """The prediction of each pair; those inside crowd or ignored regions are missing."""


class TilePlace(NamedTuple):
    """Where a tile lies in its panorama."""

    y_px: int
    """Top edge of the tile in the panorama."""
    panorama_height_px: int
    unit: str
    """Stretch of row that it shares with tiles above and below, which see the same plants."""


def pair_tile(
    name: str,
    predictions: Instances,
    labels: Sequence[LabelledInstance],
    *,
    class_numbers: Mapping[str, int] | None = None,
    place: TilePlace | None = None,
) -> TilePairs:
    """Pair each prediction with its best mask IoU, 0 where it overlaps no label; ties go to the lowest label id.

    A label may serve several predictions: a fruit that is found twice gives two pairs, as in the paper.

    Args:
        name: of the tile.
        predictions: in tile pixels.
        labels: in tile pixels; crowds and ignored objects only take predictions out.
        class_numbers: the model's class of each label class (`labels.match_classes`), so that a prediction is
            only paired with labels of its class; None pairs any classes.
        place: the tile's place in a panorama, to know heights and units.
    """
    solid = sorted((item for item in labels if not item.is_crowd and not item.ignore), key=_id_order)
    excluded = [item.mask for item in labels if item.is_crowd or item.ignore]
    best, kept = [], []
    for row, mask in enumerate(predictions.masks):
        own = [
            item for item in solid if class_numbers is None or class_numbers[item.class_name] == predictions.labels[row]
        ]
        value, _ = best_label(mask, own)
        if value < CROWD_SHARE and _share_inside(mask, excluded) >= CROWD_SHARE:
            continue
        best.append(value)
        kept.append(row)
    rows = np.array(kept, np.intp)
    height = None if place is None else _heights(predictions, rows, place)
    unit = None if place is None else np.full(len(rows), place.unit)
    scores = np.clip(predictions.scores[rows].astype(np.float64), 0, 1)
    pairs = Pairs(scores, np.array(best, np.float64), np.full(len(rows), name), height, unit)
    return TilePairs(pairs, rows)


def best_label(mask: MaskCrop, labels: Sequence[LabelledInstance]) -> tuple[float, LabelledInstance | None]:
    """Best IoU and its label, the first of equals; 0 and None where nothing overlaps."""
    best, owner = 0.0, None
    for item in labels:
        value = iou(mask, item.mask)
        if value > best:
            best, owner = value, item
    return best, owner


def _id_order(item: LabelledInstance) -> tuple[int, str]:
    """Numbers in their order, then texts."""
    return (int(item.id), "") if item.id.isdigit() else (2**62, item.id)


def _share_inside(mask: MaskCrop, regions: Sequence[MaskCrop]) -> float:
    area = mask.area_px
    return max((intersection_area_px(mask, region) for region in regions), default=0) / area if area else 0.0


def _heights(predictions: Instances, rows: npt.NDArray[np.intp], place: TilePlace) -> npt.NDArray[np.float64]:
    centres = predictions.boxes_xyxy[rows][:, [1, 3]].mean(axis=1, dtype=np.float64) + place.y_px
    heights: npt.NDArray[np.float64] = np.clip(centres / max(place.panorama_height_px, 1), 0, 1)
    return heights
