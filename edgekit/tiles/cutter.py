"""Cutting while the panorama still grows: tiles leave as soon as their columns are complete."""

from __future__ import annotations

import numpy as np

from edgekit.contracts import Columns, Image, TileSpec
from edgekit.tiles.plan import cut_tile, plan_tiles
from edgekit.tiles.settings import TileSettings


class TileCutter:
    """Cuts finished columns into tiles, with constant memory: less than three tile widths of columns are kept.

    What it emits, over `add` and `finish` together, is `plan_tiles` of the final size, in that order.

    Args:
        height_px: height of the panorama.
        settings: tile size and overlap.
    """

    def __init__(self, height_px: int, settings: TileSettings) -> None:
        self._settings = settings
        self._height_px = height_px
        self._rows = plan_tiles((settings.size_px, height_px), settings)
        self._kept: Image = np.zeros((height_px, 3 * settings.size_px, 3), np.uint8)
        self._kept_from_px = 0
        self._width_px = 0
        self._next_x_px = 0
        self._emitted = 0

    @property
    def width_px(self) -> int:
        """Columns taken so far."""
        return self._width_px

    def add(self, columns: Columns) -> list[tuple[TileSpec, Image]]:
        """Take the next columns; return the tiles that they completed.

        Raises:
            ValueError: columns that do not follow the last ones, or of another height. This is a bug of the caller.
        """
        height_px, added_px = columns.image.shape[:2]
        if (columns.x_px, height_px) != (self._width_px, self._height_px):
            got = f"columns from {columns.x_px} with height {height_px}"
            raise ValueError(f"{got}, expected from {self._width_px} with height {self._height_px}")
        tiles: list[tuple[TileSpec, Image]] = []
        for start in range(0, added_px, self._settings.size_px):
            self._append(columns.image[:, start : start + self._settings.size_px])
            while self._next_x_px + self._settings.size_px <= self._width_px:
                tiles += self._emit(self._next_x_px)
                self._next_x_px += self._settings.stride_px
        return tiles

    def finish(self) -> list[tuple[TileSpec, Image]]:
        """No more columns; return the last tiles, which are shifted inwards, or padded where the panorama is small."""
        covered_px = self._next_x_px + self._settings.overlap_px if self._emitted else 0
        if self._width_px <= covered_px:
            return []
        return self._emit(max(self._width_px - self._settings.size_px, 0))

    def _append(self, image: Image) -> None:
        used_px = self._width_px - self._kept_from_px
        if used_px + image.shape[1] > self._kept.shape[1]:
            drop_px = used_px - self._settings.size_px
            self._kept[:, : used_px - drop_px] = self._kept[:, drop_px:used_px].copy()
            self._kept_from_px += drop_px
            used_px -= drop_px
        self._kept[:, used_px : used_px + image.shape[1]] = image
        self._width_px += image.shape[1]

    def _emit(self, x_px: int) -> list[tuple[TileSpec, Image]]:
        left = x_px - self._kept_from_px
        seen = self._kept[:, left : min(left + self._settings.size_px, self._width_px - self._kept_from_px)]
        tiles = []
        for row in self._rows:
            spec = TileSpec(self._emitted, x_px, row.y_px, row.size_px)
            tiles.append((spec, cut_tile(seen, row)))
            self._emitted += 1
        return tiles
