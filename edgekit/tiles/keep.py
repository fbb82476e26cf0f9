"""One fruit out of its pieces: the piece that is kept, or the join of those that are all cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from edgekit.contracts import FloatArray, MaskCrop
from edgekit.masks import union
from edgekit.tiles.pieces import LEFT, TOP, Ints, Pieces
from edgekit.tiles.settings import MergeSettings


class Fruit(NamedTuple):
    """One merged fruit in panorama pixels."""

    leader: int
    """Row of the piece whose score and class the fruit has: the kept one, or the largest of those joined."""
    box_xyxy: FloatArray
    mask: MaskCrop
    cut: bool
    """Whether its mask ends at a tile's border, because no tile that looks beyond the border saw the fruit."""


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
    return Fruit(largest, box, mask, _is_cut(pieces, similar))


def _is_cut(pieces: Pieces, rows: Sequence[int]) -> bool:
    """Whether a piece ends at its tile's border and none of the other tiles looks beyond that border."""
    sides = pieces.cut_sides[rows]
    seen = pieces.seen_xyxy[rows]
    for at, side in np.argwhere(sides).tolist():
        line = _line_beyond(pieces, rows[at], side)
        looks = (seen[:, :2] <= line[:2]).all(axis=1) & (seen[:, 2:] >= line[2:]).all(axis=1)
        if not looks.any():
            return True
    return False


def _line_beyond(pieces: Pieces, row: int, side: int) -> Ints:
    """Box (xyxy) of the line of pixels just beyond one border of the piece's tile, as long as the piece."""
    line: Ints = pieces.bounds_xyxy[row].copy()
    border = pieces.seen_xyxy[row, side]
    near = border - 1 if side in (LEFT, TOP) else border
    line[side % 2], line[side % 2 + 2] = near, near + 1
    return line
