"""Reading a picture at a sub-pixel position: the one resampling that a panorama pixel goes through."""

from __future__ import annotations

import math

import cv2
import numpy as np
import numpy.typing as npt

from edgekit.contracts import Image

_REACH_PX = 4
"""Lagrange interpolation on eight pixels a direction. It keeps polynomials up to degree 7, so a picture stays where it
is; Lanczos windows of this size move smooth content by up to 0.018 px, which adds up along a row."""
_NODES = range(1 - _REACH_PX, _REACH_PX + 1)
_SCALES = [math.prod(node - other for other in _NODES if other != node) for node in _NODES]
"""Denominators of the Lagrange polynomials on the nodes."""
WHOLE_PX = 1.0 / 128
"""A fraction below this is a whole pixel: shifting by it would change no value by more than rounding does."""


def read_window(image: Image, origin_xy: tuple[float, float], size_wh: tuple[int, int]) -> Image:
    """Pixel (i, j) of the result is read at (i + x, j + y) of the picture; black where that is outside.

    Args:
        image: H x W x 3.
        origin_xy: where the top left pixel of the result lies in the picture.
        size_wh: of the result.
    """
    width, height = size_wh
    if not width or not height:
        return np.zeros((height, width, 3), np.uint8)
    (left, x_fraction), (top, y_fraction) = _split(origin_xy[0]), _split(origin_xy[1])
    x_margin, y_margin = (_REACH_PX if fraction else 0 for fraction in (x_fraction, y_fraction))
    part = _cut(image, (left - x_margin, top - y_margin), (width + 2 * x_margin, height + 2 * y_margin))
    if x_margin or y_margin:
        anchor = (max(x_margin - 1, 0), max(y_margin - 1, 0))
        part = cv2.sepFilter2D(part, -1, _kernel(x_fraction), _kernel(y_fraction), anchor=anchor)
        part = np.asarray(part, np.uint8)
    return part[y_margin : y_margin + height, x_margin : x_margin + width]


def _split(position_px: float) -> tuple[int, float]:
    """Whole pixels, and the fraction (0 where it is none to speak of)."""
    whole = math.floor(position_px + WHOLE_PX)
    fraction = position_px - whole
    return whole, fraction if fraction > WHOLE_PX else 0.0


def _cut(image: Image, origin_xy: tuple[int, int], size_wh: tuple[int, int]) -> Image:
    """A window of the picture, black where it reaches beyond."""
    (x, y), (width, height) = origin_xy, size_wh
    rows, columns = image.shape[:2]
    if x >= 0 and y >= 0 and x + width <= columns and y + height <= rows:
        return image[y : y + height, x : x + width]
    window = np.zeros((height, width, *image.shape[2:]), np.uint8)
    top, bottom = max(y, 0), min(y + height, rows)
    left, right = max(x, 0), min(x + width, columns)
    if top < bottom and left < right:
        window[top - y : bottom - y, left - x : right - x] = image[top:bottom, left:right]
    return window


def _kernel(fraction: float) -> npt.NDArray[np.float32]:
    """Taps that read at `fraction` (0 to 1) to the right of the anchor, which is the fourth of eight."""
    if not fraction:
        return np.ones(1, np.float32)
    whole = math.prod(fraction - node for node in _NODES)
    return np.array(
        [whole / ((fraction - node) * scale) for node, scale in zip(_NODES, _SCALES, strict=True)], np.float32
    )
