"""A frame with its place in the panorama, and the columns it shows."""

from __future__ import annotations

from typing import NamedTuple

from edgekit.contracts import Image
from edgekit.runtime.mosaic.resample import read_window


class Placed(NamedTuple):
    """A frame and where it lies."""

    image: Image
    x_px: float
    """Panorama column of its left edge."""
    y_px: float
    """Panorama row of its top edge, after the bounded correction of drift."""
    bridged: bool
    """Its position was predicted, not measured."""


def draw(placed: Placed, start_px: int, stop_px: int) -> Image:
    """Columns start_px to stop_px (not included) of the panorama as one frame shows them; black outside the frame."""
    size_wh = (max(stop_px - start_px, 0), placed.image.shape[0])
    return read_window(placed.image, (start_px - placed.x_px, -placed.y_px), size_wh)
