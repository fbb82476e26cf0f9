"""From the columns of one row to the tiles that still need the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from edgekit.contracts import Columns, Image, TileSpec
from edgekit.errors import RunFolderError
from edgekit.runtime.orientation import mirror, rising
from edgekit.tiles import TileCutter, TileSettings

Tile = tuple[TileSpec, Image]
"""x counts finished columns (see `orientation`); the picture (uint8, S x S x 3, RGB) is the right way round."""


class RowTiles:
    """Cuts the columns of a row in the order in which they were finished; leaves out the tiles that are stored.

    Args:
        settings: tile size and overlap.
        stored: the tiles that need no model any more.
        name: of the row, for messages.
    """

    def __init__(self, settings: TileSettings, stored: Sequence[TileSpec], name: str) -> None:
        self._settings = settings
        self._stored = stored
        self._name = name
        self._cutter: TileCutter | None = None
        self._direction = 1
        self.number = 0
        """Tiles that were cut, stored ones included."""

    def add(self, columns: Columns, direction: int) -> list[Tile]:
        """Take the next columns of a panorama that grows to the right (+1) or left (-1); return what they completed.

        Raises:
            RunFolderError: a stored tile lies elsewhere than the tile of the same number.
        """
        self._direction = direction
        self._cutter = self._cutter or TileCutter(columns.image.shape[0], self._settings)
        return list(self._wanted(self._cutter.add(rising(columns, direction))))

    def finish(self) -> list[Tile]:
        """No more columns; return the last tiles.

        Raises:
            RunFolderError: a stored tile lies elsewhere than the tile of the same number.
        """
        cutter, self._cutter = self._cutter, None  # its columns are let go
        return [] if cutter is None else list(self._wanted(cutter.finish()))

    def _wanted(self, tiles: Iterable[Tile]) -> Iterator[Tile]:
        for spec, image in tiles:
            self.number += 1
            if spec.number < len(self._stored):
                self._check_place(spec, self._stored[spec.number])
            else:
                yield (spec, image if self._direction > 0 else mirror(image))

    def _check_place(self, spec: TileSpec, stored: TileSpec) -> None:
        if spec != stored:
            here, there = f"({spec.x_px}, {spec.y_px})", f"({stored.x_px}, {stored.y_px})"
            what = f"tile {spec.number} of {self._name} lies at {here}, in the stored run at {there}"
            raise RunFolderError(what, mend="the source gives other frames than before: choose another --out")
