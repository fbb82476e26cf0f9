"""Masks between crops and database columns."""

from __future__ import annotations

import numpy as np
from pycocotools import mask as coco_mask

from edgekit.contracts import MaskCrop

MaskColumns = tuple[int, int, int, int, str]
"""mask_x_px, mask_y_px, mask_width_px, mask_height_px, rle."""


def to_columns(mask: MaskCrop) -> MaskColumns:
    """The columns of a mask: the place and size of its plane, and COCO's run lengths of the plane alone."""
    height, width = mask.plane.shape
    if not mask.plane.size:
        return mask.x_px, mask.y_px, width, height, ""
    counts = coco_mask.encode(np.asfortranarray(mask.plane, np.uint8))["counts"]
    return mask.x_px, mask.y_px, width, height, counts.decode("ascii")


def from_columns(columns: MaskColumns) -> MaskCrop:
    """The mask of such columns."""
    x_px, y_px, width, height, rle = columns
    if not width or not height:
        return MaskCrop(np.zeros((height, width), np.bool_), x_px, y_px)
    plane = coco_mask.decode({"size": [height, width], "counts": rle.encode("ascii")})
    return MaskCrop(plane.view(np.bool_), x_px, y_px)
