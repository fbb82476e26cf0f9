"""Cut pieces that the tile with the better view does not confirm.

What a network makes of a leaf, a stem or the edge of a fruit that the border of a tile cuts off may look like a fruit.
Where another tile has the whole of that place well inside its view and sees nothing alike, it is none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgekit.tiles.keep import Fruit
from edgekit.tiles.pieces import Ints, Pieces


class Views:
    """What part of the panorama each tile sees, to be asked for the tiles around a place.

    Args:
        seen_xyxy: T x 4; what each tile sees.
        size_wh: width and height of the panorama.
        border_px: a tile sees well what keeps this distance from its inner borders.
    """

    def __init__(self, seen_xyxy: Ints, size_wh: tuple[int, int], border_px: int) -> None:
        low, high = seen_xyxy[:, :2], seen_xyxy[:, 2:]
        size = np.array(size_wh, np.int64)
        self._low = np.where(low > 0, low + border_px, 0)
        self._high = np.where(high < size, high - border_px, size)
        self._cell_px = max(int((high - low).max(initial=1)), 1)
        self._tiles_at: dict[tuple[int, int], list[int]] = {}
        for tile, (x0, y0, x1, y1) in enumerate((seen_xyxy // self._cell_px).tolist()):
            for column in range(x0, x1 + 1):
                for line in range(y0, y1 + 1):
                    self._tiles_at.setdefault((column, line), []).append(tile)

    def seeing(self, low: Ints, high: Ints) -> list[int]:
        """The tiles that see all of a box (its corners x, y) well."""
        column, line = (int(value) for value in low // self._cell_px)
        near = self._tiles_at.get((column, line), [])
        fits = (self._low[near] <= low).all(axis=1) & (self._high[near] >= high).all(axis=1)
        return [near[at] for at in np.flatnonzero(fits)]


def is_confirmed(pieces: Pieces, item: Fruit, linked_rows: Sequence[int], views: Views) -> bool:
    """False for a fruit made of cut pieces where another tile sees the whole place well and has nothing alike there.

    Args:
        pieces: what the tiles saw.
        item: the fruit.
        linked_rows: pieces of other fruit that agree with its pieces.
        views: what the tiles see.
    """
    if item.whole:
        return True
    rows = list(item.rows)
    bounds = pieces.bounds_xyxy[rows]
    agreeing = set(pieces.tile[rows].tolist()) | set(pieces.tile[list(linked_rows)].tolist())
    return agreeing.issuperset(views.seeing(bounds[:, :2].min(axis=0), bounds[:, 2:].max(axis=0)))
