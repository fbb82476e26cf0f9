"""Which pieces of different tiles may be one fruit, and how well they agree where both tiles look."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from edgekit.masks import clip, intersection_area_px
from edgekit.tiles.pieces import BOTTOM, LEFT, RIGHT, TOP, Ints, Pieces

CELL_PX = 128
"""Side of the cells that pieces are sorted into: about the size of a fruit; it decides the speed only."""


class Agreement(NamedTuple):
    """Areas in the strip that the tiles of two pieces both see, in pixels."""

    shared: int
    first: int
    second: int

    @property
    def iou(self) -> float:
        """Intersection over union; 0 where the strip holds nothing of either."""
        joined = self.first + self.second - self.shared
        return self.shared / joined if joined else 0.0

    @property
    def containment(self) -> float:
        """Share of the smaller mask that lies in the other; 0 where the strip lacks one of them."""
        smaller = min(self.first, self.second)
        return self.shared / smaller if smaller else 0.0


def neighbour_pairs(pieces: Pieces) -> npt.NDArray[np.intp]:
    """Pairs (i, j), i < j, of pieces of different tiles whose boxes touch: M x 2, in ascending order.

    Pieces are sorted into cells, so that the cost grows with their number and not with its square.
    """
    cell_of, piece = _cells(pieces.bounds_xyxy)
    order = np.lexsort((piece, cell_of))
    cell_of, piece = cell_of[order], piece[order]
    end_of_cell = np.searchsorted(cell_of, cell_of, side="right")
    partners = end_of_cell - np.arange(len(piece)) - 1
    first = np.repeat(np.arange(len(piece)), partners)
    step = np.arange(len(first)) - np.repeat(np.cumsum(partners) - partners, partners)
    pairs = np.stack([piece[first], piece[first + 1 + step]], axis=1)
    one, other = pieces.bounds_xyxy[pairs[:, 0]], pieces.bounds_xyxy[pairs[:, 1]]
    touch = (one[:, :2] <= other[:, 2:]).all(axis=1) & (other[:, :2] <= one[:, 2:]).all(axis=1)
    apart = pieces.tile[pairs[:, 0]] != pieces.tile[pairs[:, 1]]
    return np.unique(pairs[touch & apart], axis=0)


def agreement(pieces: Pieces, i: int, j: int) -> Agreement | None:
    """How far two pieces agree in the strip that both tiles see; None where the tiles see nothing in common.

    Tiles without overlap still touch: there the last line of one tile is compared with the first line of the other.
    """
    one, other = pieces.seen_xyxy[i], pieces.seen_xyxy[j]
    x0, y0 = (int(value) for value in np.maximum(one[:2], other[:2]))
    x1, y1 = (int(value) for value in np.minimum(one[2:], other[2:]))
    first, second = pieces.instances.masks[i], pieces.instances.masks[j]
    if x1 == x0 and y1 > y0:
        left, right = (first, second) if one[RIGHT] == x0 else (second, first)
        first, second, x0 = left, right.shifted(-1, 0), x0 - 1
    elif y1 == y0 and x1 > x0:
        above, below = (first, second) if one[BOTTOM] == y0 else (second, first)
        first, second, y0 = above, below.shifted(0, -1), y0 - 1
    elif x1 <= x0 or y1 <= y0:
        return None
    first, second = clip(first, x0, y0, x1, y1), clip(second, x0, y0, x1, y1)
    return Agreement(intersection_area_px(first, second), first.area_px, second.area_px)


def _cells(bounds_xyxy: Ints) -> tuple[Ints, npt.NDArray[np.intp]]:
    """Every (cell, piece) where the piece's box, grown by the pixel that touching needs, reaches into the cell."""
    low, high = bounds_xyxy[:, :2] // CELL_PX, bounds_xyxy[:, 2:] // CELL_PX
    counts = high - low + 1
    per_piece = counts.prod(axis=1)
    piece = np.repeat(np.arange(len(bounds_xyxy)), per_piece)
    step = np.arange(len(piece)) - np.repeat(np.cumsum(per_piece) - per_piece, per_piece)
    column = low[piece, LEFT] + step // counts[piece, 1]
    line = low[piece, TOP] + step % counts[piece, 1]
    lines = int(high[:, 1].max(initial=0)) + 1
    return column * lines + line, piece
