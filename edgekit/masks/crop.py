"""Masks as crops: intersection, union, IoU, clipping. Nothing here ever builds a full-size plane."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgekit.contracts import BoolPlane, FloatArray, MaskCrop

EMPTY = MaskCrop(np.zeros((0, 0), np.bool_), 0, 0)
"""The mask without a pixel."""


def trim(mask: MaskCrop) -> MaskCrop:
    """The same mask with the smallest plane that holds it."""
    rows = np.flatnonzero(mask.plane.any(axis=1))
    if not len(rows):
        return EMPTY
    columns = np.flatnonzero(mask.plane.any(axis=0))
    y0, y1, x0, x1 = int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1
    return MaskCrop(mask.plane[y0:y1, x0:x1], mask.x_px + x0, mask.y_px + y0)


def window(mask: MaskCrop, x0: int, y0: int, x1: int, y1: int) -> BoolPlane:
    """The part of the mask in columns x0 <= x < x1 and rows y0 <= y < y1: a view of its plane, maybe empty."""
    top, left = max(y0 - mask.y_px, 0), max(x0 - mask.x_px, 0)
    return mask.plane[top : max(y1 - mask.y_px, top), left : max(x1 - mask.x_px, left)]


def clip(mask: MaskCrop, x0: int, y0: int, x1: int, y1: int) -> MaskCrop:
    """The mask with everything outside x0 <= x < x1, y0 <= y < y1 taken off."""
    return MaskCrop(window(mask, x0, y0, x1, y1), max(mask.x_px, x0), max(mask.y_px, y0))


def intersection_area_px(a: MaskCrop, b: MaskCrop) -> int:
    """Number of pixels that are on in both masks."""
    x0, y0 = max(a.x_px, b.x_px), max(a.y_px, b.y_px)
    x1 = min(a.x_px + a.plane.shape[1], b.x_px + b.plane.shape[1])
    y1 = min(a.y_px + a.plane.shape[0], b.y_px + b.plane.shape[0])
    if x1 <= x0 or y1 <= y0:
        return 0
    return int(np.count_nonzero(window(a, x0, y0, x1, y1) & window(b, x0, y0, x1, y1)))


def iou(a: MaskCrop, b: MaskCrop) -> float:
    """Intersection over union of two masks; 0 where both are empty."""
    shared = intersection_area_px(a, b)
    joined = a.area_px + b.area_px - shared
    return shared / joined if joined else 0.0


def union(masks: Sequence[MaskCrop]) -> MaskCrop:
    """The mask of every pixel that is on in at least one of the masks."""
    solid = [mask for mask in masks if mask.plane.size]
    if not solid:
        return EMPTY
    x0, y0 = min(mask.x_px for mask in solid), min(mask.y_px for mask in solid)
    x1 = max(mask.x_px + mask.plane.shape[1] for mask in solid)
    y1 = max(mask.y_px + mask.plane.shape[0] for mask in solid)
    plane = np.zeros((y1 - y0, x1 - x0), np.bool_)
    for mask in solid:
        height, width = mask.plane.shape
        plane[mask.y_px - y0 : mask.y_px - y0 + height, mask.x_px - x0 : mask.x_px - x0 + width] |= mask.plane
    return MaskCrop(plane, x0, y0)


def bounds_xyxy(mask: MaskCrop) -> FloatArray:
    """Box of the pixels that are on: float32, 4; zeros for an empty mask."""
    tight = trim(mask)
    height, width = tight.plane.shape
    return np.array([tight.x_px, tight.y_px, tight.x_px + width, tight.y_px + height], np.float32)
