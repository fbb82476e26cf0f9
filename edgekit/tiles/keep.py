"""One fruit out of its pieces: the piece that is kept, or the join of those that are all cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from edgekit.contracts import FloatArray, MaskCrop
from edgekit.masks import union, window
from edgekit.tiles.pieces import BOTTOM, LEFT, RIGHT, TOP, Pieces
from edgekit.tiles.settings import MergeSettings


class Fruit(NamedTuple):
    """One merged fruit in panorama pixels."""

    leader: int
    """Row of the piece whose score and class the fruit has: the kept one, or the largest of those joined."""
    box_xyxy: FloatArray
    mask: MaskCrop
    cut: bool
    """Whether its mask ends at a tile's border, because no tile saw the fruit whole and no other piece goes on."""


def settle_fruit(pieces: Pieces, rows: Sequence[int], settings: MergeSettings) -> Fruit:
    """Decide what one group of pieces (rows ascending, so by falling score) amounts to."""
    scores, cut = pieces.instances.scores, pieces.cut
    similar = [row for row in rows if scores[row] >= settings.similar_score * scores[rows[0]]]
    whole = [row for row in similar if not cut[row]]
    if whole:
        kept = whole[0]
        return Fruit(kept, pieces.instances.boxes_xyxy[kept], pieces.instances.masks[kept], False)
    largest = min(similar, key=lambda row: (-int(pieces.area_px[row]), row))
    boxes = pieces.instances.boxes_xyxy[similar]
    box = np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])
    mask = union([pieces.instances.masks[row] for row in similar])
    return Fruit(largest, box, mask, any(_ends_at_border(pieces, row, mask) for row in similar))


def _ends_at_border(pieces: Pieces, row: int, joined: MaskCrop) -> bool:
    """Whether nothing of the joined mask lies just beyond a border that cuts this piece."""
    x0, y0, x1, y1 = (int(value) for value in pieces.bounds_xyxy[row])
    seen = [int(value) for value in pieces.seen_xyxy[row]]
    beyond = {
        LEFT: (seen[LEFT] - 1, y0, seen[LEFT], y1),
        TOP: (x0, seen[TOP] - 1, x1, seen[TOP]),
        RIGHT: (seen[RIGHT], y0, seen[RIGHT] + 1, y1),
        BOTTOM: (x0, seen[BOTTOM], x1, seen[BOTTOM] + 1),
    }
    return any(not window(joined, *beyond[int(side)]).any() for side in np.flatnonzero(pieces.cut_sides[row]))
