"""A frame with its place in the panorama, and the columns it shows."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from edgekit.contracts import Image
from edgekit.runtime.mosaic.resample import read_window


class Optics(Protocol):
    """What lies between the scene and the pixels of a camera: lens, roll, fall-off of the light."""

    def read(self, image: Image, origin_xy: tuple[float, float], size_wh: tuple[int, int]) -> Image:
        """As `read_window`, of the picture that a straight and even lens would have given; resampled once."""
        ...

    def straight(self, image: Image, band: tuple[float, float]) -> Image:
        """The picture as a straight lens would have given it, in grey and within the band (shares of the height) alone:
        to measure movement, not to be drawn."""
        ...


class Placed(NamedTuple):
    """A frame and where it lies."""

    image: Image
    x_px: float
    """Panorama column of its left edge."""
    y_px: float
    """Panorama row of its top edge, after the bounded correction of drift."""
    bridged: bool
    """Its position was predicted, not measured."""
    optics: Optics | None = None
    """Of the camera; None: the picture is read as it is."""


def draw(placed: Placed, start_px: int, stop_px: int) -> Image:
    """Columns start_px to stop_px (not included) of the panorama as one frame shows them; black outside the frame."""
    size_wh = (max(stop_px - start_px, 0), placed.image.shape[0])
    read = read_window if placed.optics is None else placed.optics.read
    return read(placed.image, (start_px - placed.x_px, -placed.y_px), size_wh)
