"""Where the tiles of a panorama lie, and the cutting of one tile out of a whole picture."""

from __future__ import annotations

import numpy as np

from edgekit.contracts import Image, TileSpec
from edgekit.tiles.settings import TileSettings


def plan_tiles(
    size_wh: tuple[int, int], settings: TileSettings, *, phase_px: tuple[int, int] = (0, 0)
) -> tuple[TileSpec, ...]:
    """The tiles of a panorama, numbered column by column from the left, top to bottom in a column.

    A tile that would reach beyond the panorama is shifted inwards. A panorama smaller than a tile gets one tile at 0
    that reaches beyond it. A panorama without a pixel has no tiles.

    Args:
        size_wh: width and height of the panorama in pixels.
        settings: tile size and overlap.
        phase_px: moves the grid this far to the left and up, as if the panorama began that much later; the tiles of
            the first column and row are then shifted inwards, like the last ones.
    """
    origins_x = _axis_origins(size_wh[0], settings, phase_px[0])
    origins_y = _axis_origins(size_wh[1], settings, phase_px[1])
    places = [(x_px, y_px) for x_px in origins_x for y_px in origins_y]
    return tuple(TileSpec(number, x_px, y_px, settings.size_px) for number, (x_px, y_px) in enumerate(places))


def cut_tile(image: Image, spec: TileSpec) -> Image:
    """The tile's pixels (uint8, S x S x 3, its own memory); black where it reaches beyond the picture."""
    seen = image[spec.y_px : spec.y_px + spec.size_px, spec.x_px : spec.x_px + spec.size_px]
    if seen.shape[:2] == (spec.size_px, spec.size_px):
        return np.array(seen, order="C")
    tile = np.zeros((spec.size_px, spec.size_px, 3), np.uint8)
    tile[: seen.shape[0], : seen.shape[1]] = seen
    return tile


def _axis_origins(length_px: int, settings: TileSettings, phase_px: int) -> list[int]:
    if length_px < 0:
        raise ValueError(f"a panorama cannot be {length_px} px long")
    if length_px == 0:
        return []
    last = max(length_px - settings.size_px, 0)
    start = -(phase_px % settings.stride_px)
    grid = range(start, last + settings.stride_px, settings.stride_px)
    return sorted({min(max(origin, 0), last) for origin in grid})
