"""A second look at fruit that no tile saw whole: extra tiles centred on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgekit.contracts import TileSpec
from edgekit.tiles.merging import Merged
from edgekit.tiles.settings import TileSettings

MIN_SCORE = 0.2
"""Weaker fruit are not worth a tile: thresholds lie well above."""
SNAP_PX = 32
"""Places of extra tiles are whole multiples of this, the stride of the coarsest level of the networks: the same fruit
then gets the same tile, and so the same score, wherever the grid starts."""


def second_look(
    merged: Merged, specs: Sequence[TileSpec], size_wh: tuple[int, int], settings: TileSettings
) -> tuple[TileSpec, ...]:
    """Tiles that show the fruit whole which no tile has shown whole so far, numbered after those of `specs`.

    Segment them, and merge again with their results as `looks`.

    Args:
        merged: what the first merge found.
        specs: the tiles it came from; none of them is asked for again.
        size_wh: width and height of the panorama in pixels.
        settings: tile size; fruit larger than a tile are left as they are.
    """
    boxes = merged.instances.boxes_xyxy
    fits = (boxes[:, 2:] - boxes[:, :2] < settings.size_px).all(axis=1)
    wanted = boxes[~merged.whole & fits & (merged.instances.scores >= MIN_SCORE)]
    corners = (wanted[:, :2] + wanted[:, 2:]) / 2 - settings.size_px / 2
    last = np.maximum(np.array(size_wh) - settings.size_px, 0)
    places = np.clip(np.round(corners / SNAP_PX) * SNAP_PX, 0, last).astype(int).tolist()
    known = {(spec.x_px, spec.y_px) for spec in specs}
    extra = sorted({(x_px, y_px) for x_px, y_px in places} - known)
    first = max((spec.number for spec in specs), default=-1) + 1
    return tuple(TileSpec(first + at, x_px, y_px, settings.size_px) for at, (x_px, y_px) in enumerate(extra))
