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

    rows: tuple[int, ...]
    """Rows of its pieces. The first is the piece whose score and class the fruit has: the kept one, or the largest of
    those joined."""
    box_xyxy: FloatArray
    mask: MaskCrop
    whole: bool
    """Whether a tile saw it whole: its mask then is that of one piece."""
    cut: bool
    """Whether its mask ends at a tile's border, because no tile that looks beyond the border saw the fruit."""


def settle_fruit(pieces: Pieces, rows: Sequence[int], settings: MergeSettings) -> Fruit:
    """Decide what one group of pieces (rows ascending, so by falling score) amounts to."""
    scores = pieces.instances.scores
    similar = [row for row in rows if scores[row] >= settings.similar_score * scores[rows[0]]]
    whole = [row for row in similar if not pieces.cut[row]]
    if whole:
        kept = whole[0]
        box, mask = pieces.instances.boxes_xyxy[kept], pieces.instances.masks[kept]
        return Fruit(_led_by(kept, rows), box, mask, whole=True, cut=False)
    largest = min(similar, key=lambda row: (-int(pieces.area_px[row]), row))
    boxes = pieces.instances.boxes_xyxy[similar]
    box = np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])
    mask = union([pieces.instances.masks[row] for row in similar])
    return Fruit(_led_by(largest, rows), box, mask, whole=False, cut=_is_cut(pieces, similar))


def _led_by(leader: int, rows: Sequence[int]) -> tuple[int, ...]:
    return (leader, *(row for row in rows if row != leader))


def _is_cut(pieces: Pieces, rows: Sequence[int]) -> bool:
    """Whether a piece ends at its tile's border and none of the other tiles looks beyond that border."""
    seen = pieces.seen_xyxy[rows]
    for at, side in np.argwhere(pieces.cut_sides[rows]).tolist():
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
