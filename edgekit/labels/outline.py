"""From drawn outlines to crops, pixel for pixel as pycocotools does it, after checking what pycocotools does not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from pycocotools import mask as coco_mask

from edgekit.contracts import MaskCrop
from edgekit.errors import LabelsError
from edgekit.masks import CocoRle, decode

Points = npt.NDArray[np.float64]
"""float64, N x 2, picture pixels (x, y)."""

FAR_OUTSIDE = 16
"""Outlines that reach further out than this many picture sizes are refused: pycocotools walks along every edge in
steps of a fifth of a pixel, so that a coordinate of 1e9 takes all memory (cocoapi#380)."""


def polygon_points(numbers: Any) -> Points:
    """Points of a flat list x0, y0, x1, y1, ...

    Raises:
        LabelsError: no list of numbers, an odd count, fewer than three points, or a number that is not finite.
    """
    try:
        flat = np.asarray(numbers, np.float64)
    except (TypeError, ValueError):
        raise LabelsError("a polygon that is no list of numbers") from None
    if flat.ndim != 1 or len(flat) % 2:
        raise LabelsError(f"a polygon must be a flat list of x, y pairs, got {flat.size} numbers in shape {flat.shape}")
    if len(flat) < 6:
        raise LabelsError(f"a polygon of {len(flat)} numbers: an outline has at least three points")
    if not np.isfinite(flat).all():
        raise LabelsError("a polygon with a coordinate that is not a finite number")
    return flat.reshape(-1, 2)


def polygons_mask(polygons: Sequence[Points], size_wh: tuple[int, int]) -> tuple[MaskCrop, int]:
    """Union of polygons in a picture of `size_wh` pixels, equal to pycocotools' rasterisation.

    Returns:
        The mask, trimmed, and how many of the polygons have no pixel of their own in the picture.

    Raises:
        LabelsError: a polygon far outside the picture, or not one with a pixel in it.
    """
    width, height = size_wh
    for points in polygons:
        require_reach(points, size_wh)
    parts = coco_mask.frPyObjects([points.ravel().tolist() for points in polygons], height, width)
    empty = int(np.count_nonzero(coco_mask.area(parts) == 0))
    if empty == len(polygons):
        outside = all((points < 0).any(1).all() or (points > size_wh).any(1).all() for points in polygons)
        raise LabelsError("an outline wholly outside the picture" if outside else "an outline without a pixel")
    return decode(CocoRle(size=[height, width], counts=coco_mask.merge(parts)["counts"].decode("ascii"))), empty


def reaches_outside(points: Points, size_wh: tuple[int, int], slack_px: float = 1.0) -> bool:
    """True where a point lies more than `slack_px` outside the picture."""
    return bool((points < -slack_px).any() or (points > np.asarray(size_wh) + slack_px).any())


def rectangle(x0: float, y0: float, x1: float, y1: float) -> Points:
    """Corners of an upright rectangle, whichever two opposite corners are given."""
    left, right, top, bottom = min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1)
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]], np.float64)


def rotated(points: Points, angle_rad: float, centre: tuple[float, float]) -> Points:
    """Points turned clockwise, as seen on the screen, about a centre."""
    cosine, sine = math.cos(angle_rad), math.sin(angle_rad)
    turn = np.array([[cosine, sine], [-sine, cosine]])
    turned: Points = (points - centre) @ turn + centre
    return turned


def ellipse(centre: tuple[float, float], radii: tuple[float, float], angle_rad: float = 0.0) -> Points:
    """An ellipse as a polygon with about a point a pixel, so that its area is right to 0.1 %.

    Raises:
        LabelsError: a number that is not finite.
    """
    if not np.isfinite((*centre, *radii, angle_rad)).all():
        raise LabelsError("a circle or an ellipse with a number that is not finite")
    count = min(max(64, round(2 * math.pi * max(radii))), 4096)
    angle = np.arange(count) * (2 * math.pi / count)
    upright = np.stack([centre[0] + radii[0] * np.cos(angle), centre[1] + radii[1] * np.sin(angle)], axis=1)
    return rotated(upright, angle_rad, centre) if angle_rad else upright


def require_reach(points: Points, size_wh: tuple[int, int]) -> None:
    """Pass where every coordinate is finite and not far outside the picture, see `FAR_OUTSIDE`.

    Raises:
        LabelsError: one is.
    """
    if not np.isfinite(points).all():
        raise LabelsError("an outline with a coordinate that is not a finite number")
    limit = FAR_OUTSIDE * max(size_wh)
    if np.abs(points).max() > limit:
        far = float(points.ravel()[np.abs(points).argmax()])
        raise LabelsError(f"coordinate {far:g} lies far outside the picture of {size_wh[0]} x {size_wh[1]}")
