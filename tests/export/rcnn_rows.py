"""Row-level comparison of the contract's arrays with torchvision's own detections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from edgekit.contracts import Instances, MaskCrop
from edgekit.export.parity import match
from edgekit.export.rcnn_reference import ReferenceRows
from edgekit.masks import paste_box_mask

BOX_PX = 0.01
SCORE = 1e-4
MASK = 1.0 / 255.0
MASK_IOU = 0.9


class Row(NamedTuple):
    """Arrays of one tile, cut to the valid rows."""

    boxes: np.ndarray
    scores: np.ndarray
    labels: np.ndarray
    masks: np.ndarray


def rows_of(outputs: Sequence[np.ndarray], tile: int) -> Row:
    """The valid rows of one tile of a graph's outputs, in the contract's order."""
    count = int(outputs[0][tile])
    boxes, scores, labels, masks = (np.asarray(outputs[index][tile, :count]) for index in range(1, 5))
    return Row(boxes, scores, labels, masks)


def assert_same(found: Row, wanted: ReferenceRows, *, floor: float, size_px: int) -> None:
    """Every detection has its partner within the limits of exact parity; scores at the floor are exempt."""
    ours = Instances(
        found.boxes.astype(np.float32),
        found.scores.astype(np.float32),
        found.labels.astype(np.int32),
        tuple(paste_box_mask(mask, box, size_px) for mask, box in zip(found.masks, found.boxes, strict=True)),
    )
    theirs = Instances(
        wanted.boxes, wanted.scores, wanted.labels, tuple(MaskCrop(plane, 0, 0) for plane in wanted.planes)
    )
    pairs = match(theirs, ours)
    for side, column in ((theirs, 0), (ours, 1)):
        alone = np.setdiff1d(np.arange(len(side)), [pair[column] for pair in pairs])
        drawn = [row for row in alone if side.masks[row].plane.any() and side.scores[row] > floor + SCORE]
        assert not drawn, f"rows {drawn} of {('torchvision', 'the graph')[column]} have no partner"
    for i, j, overlap in pairs:
        assert overlap >= MASK_IOU
        assert np.abs(theirs.boxes_xyxy[i] - ours.boxes_xyxy[j]).max() <= BOX_PX
        assert abs(theirs.scores[i] - ours.scores[j]) <= SCORE
        assert np.abs(wanted.masks[i] - found.masks[j] / 255.0).max() <= MASK
