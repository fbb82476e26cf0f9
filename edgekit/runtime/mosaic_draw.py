"""Reading columns from a frame at a sub-pixel position: the one resampling that a panorama pixel goes through."""

from __future__ import annotations

import math
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from edgekit.contracts import Image

_LOBES = 3
"""Lanczos 3: six taps a direction, sharper than a cubic and without its loss near the Nyquist limit."""
_WHOLE_PX = 1.0 / 128
"""A fraction below this is a whole pixel: the shift would change no value by more than rounding does."""


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
    """Columns start_px to stop_px (not included) of the panorama as one frame shows them; black outside the frame.

    Pixel (i, j) of the panorama is read at (i - x_px, j - y_px) of the frame.
    """
    height, width = placed.image.shape[0], max(stop_px - start_px, 0)
    if not width:
        return np.zeros((height, 0, 3), np.uint8)
    left, x_fraction = _split(start_px - placed.x_px)
    top, y_fraction = _split(-placed.y_px)
    x_margin, y_margin = (_LOBES if fraction else 0 for fraction in (x_fraction, y_fraction))
    part = _cut(placed.image, (left - x_margin, top - y_margin), (width + 2 * x_margin, height + 2 * y_margin))
    read = part
    if x_margin or y_margin:
        read = np.asarray(cv2.sepFilter2D(part, -1, _kernel(x_fraction), _kernel(y_fraction)), np.uint8)
    return np.asarray(read[y_margin : y_margin + height, x_margin : x_margin + width], np.uint8)


def _split(position_px: float) -> tuple[int, float]:
    """Whole pixels, and the fraction (0 where it is none to speak of)."""
    whole = math.floor(position_px + _WHOLE_PX)
    fraction = position_px - whole
    return whole, fraction if fraction > _WHOLE_PX else 0.0


def _cut(image: Image, origin_xy: tuple[int, int], size_wh: tuple[int, int]) -> Image:
    """A window of the frame, black where it reaches beyond."""
    (x, y), (width, height) = origin_xy, size_wh
    rows, columns = image.shape[:2]
    if x >= 0 and y >= 0 and x + width <= columns and y + height <= rows:
        return image[y : y + height, x : x + width]
    window = np.zeros((height, width, 3), np.uint8)
    top, bottom = max(y, 0), min(y + height, rows)
    left, right = max(x, 0), min(x + width, columns)
    if top < bottom and left < right:
        window[top - y : bottom - y, left - x : right - x] = image[top:bottom, left:right]
    return window


def _kernel(fraction: float) -> npt.NDArray[np.float32]:
    """Lanczos taps that read at `fraction` (0 to 1) to the right of a pixel; the anchor is the middle tap."""
    if not fraction:
        return np.ones(1, np.float32)
    distance = np.arange(-_LOBES, _LOBES + 1) - fraction
    taps = np.where(np.abs(distance) < _LOBES, np.sinc(distance) * np.sinc(distance / _LOBES), 0.0)
    return np.asarray(taps / taps.sum(), np.float32)
