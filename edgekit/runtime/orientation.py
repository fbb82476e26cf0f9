"""The two ways to count columns: as the scene shows them, and in the order in which they were finished.

A panorama's x grows with the scene from left to right. Where the camera travels to the left, columns are finished from
right to left: `Columns.x_px` then falls from 0 downwards. What only knows how to go upwards (the tile cutter) is fed
mirrored columns, whose x counts finished columns; what it cuts is mirrored back, so that nothing is ever segmented the
wrong way round.
"""

from __future__ import annotations

import numpy as np

from edgekit.contracts import Columns, Image


def mirror(image: Image) -> Image:
    """The picture with left and right exchanged (a copy)."""
    return np.ascontiguousarray(image[:, ::-1])


def rising(columns: Columns, direction: int) -> Columns:
    """The columns with an x that counts finished columns from 0 upwards; mirrored where direction is -1."""
    if direction > 0:
        return columns
    width_px = columns.image.shape[1]
    return Columns(mirror(columns.image), -(columns.x_px + width_px), columns.bridged)
