"""From the probability masks of the graph contract (uint8, m x m) to crops in tile pixels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgekit.contracts import FloatArray, MaskCrop
from edgekit.masks.crop import EMPTY

ON_AT = 127.5
"""A pixel is on from this value of (probability x 255)."""


def paste_box_mask(mask: npt.NDArray[np.uint8], box_xyxy: FloatArray, size_px: int) -> MaskCrop:
    """Put a mask that covers its box into the tile, by torchvision's rule (`paste_masks_in_image`).

    The mask gets a border of one zero pixel and the box grows with it; the grown box is cut to whole pixels toward
    zero, its last pixel included, and the mask is sampled bilinearly over it.

    Args:
        mask: uint8, m x m.
        box_xyxy: float32, 4, tile pixels. A box with NaN gives an empty mask.
        size_px: side of the tile.
    """
    if not np.isfinite(box_xyxy).all():
        return EMPTY
    m = mask.shape[0]
    x0, y0, x1, y1 = pasted_corners(box_xyxy, m)
    width, height = max(x1 - x0 + 1, 1), max(y1 - y0 + 1, 1)
    columns = np.arange(max(x0, 0), min(x1 + 1, size_px))
    rows = np.arange(max(y0, 0), min(y1 + 1, size_px))
    if not len(columns) or not len(rows):
        return EMPTY
    bordered = np.pad(mask, 1)
    at_x = (columns - x0 + 0.5) * ((m + 2) / width) - 0.5
    at_y = (rows - y0 + 0.5) * ((m + 2) / height) - 0.5
    return MaskCrop(sample_linear(bordered, at_y, at_x) >= ON_AT, int(columns[0]), int(rows[0]))


def pasted_corners(box_xyxy: FloatArray, mask_size_px: int) -> tuple[int, int, int, int]:
    """First and last pixel (x0, y0, x1, y1) that `paste_box_mask` samples a mask over, before the tile cuts it."""
    centre = (box_xyxy[:2] + box_xyxy[2:]) * np.float32(0.5)
    half = (box_xyxy[2:] - box_xyxy[:2]) * np.float32(0.5) * np.float32((mask_size_px + 2) / mask_size_px)
    x0, y0, x1, y1 = (int(value) for value in np.trunc(np.concatenate([centre - half, centre + half])))
    return x0, y0, x1, y1


def crop_tile_mask(mask: npt.NDArray[np.uint8], box_xyxy: FloatArray, size_px: int) -> MaskCrop:
    """Cut one object's mask out of a mask that covers the whole tile.

    Sampled bilinearly, at the pixels whose centre lies in the box.

    Args:
        mask: uint8, m x m.
        box_xyxy: float32, 4, tile pixels. A box with NaN gives an empty mask.
        size_px: side of the tile.
    """
    if not np.isfinite(box_xyxy).all():
        return EMPTY
    x0, y0 = (int(value) for value in np.maximum(np.ceil(box_xyxy[:2] - 0.5), 0))
    x1, y1 = (int(value) for value in np.minimum(np.ceil(box_xyxy[2:] - 0.5), size_px))
    if x1 <= x0 or y1 <= y0:
        return EMPTY
    scale = mask.shape[0] / size_px
    at_x, at_y = (np.arange(x0, x1) + 0.5) * scale - 0.5, (np.arange(y0, y1) + 0.5) * scale - 0.5
    return MaskCrop(sample_linear(mask, at_y, at_x) >= ON_AT, x0, y0)


def sample_linear(
    plane: npt.NDArray[np.uint8], rows: npt.NDArray[np.float64], columns: npt.NDArray[np.float64]
) -> FloatArray:
    """Bilinear samples of a plane on a grid of fractional rows and columns; the edge is repeated beyond the plane.

    Returns:
        float32, len(rows) x len(columns).
    """
    last_row, last_column = plane.shape[0] - 1, plane.shape[1] - 1
    rows, columns = np.clip(rows, 0, last_row), np.clip(columns, 0, last_column)
    top, left = rows.astype(np.intp), columns.astype(np.intp)
    below, right = np.minimum(top + 1, last_row), np.minimum(left + 1, last_column)
    down = (rows - top).astype(np.float32)[:, None]
    across = (columns - left).astype(np.float32)[None, :]
    first, second = plane[top].astype(np.float32), plane[below].astype(np.float32)
    lines = first + (second - first) * down
    near = lines[:, left]
    sampled: FloatArray = near + (lines[:, right] - near) * across
    return sampled
