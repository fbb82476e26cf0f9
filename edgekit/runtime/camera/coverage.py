"""Where in the picture corners of a board were seen: as shares, and as a picture for a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from edgekit.contracts import Image

_CELLS = 4
_LONGER = 10
"""Times that errors are drawn longer than they are."""
_CORNER, _ERROR, _SPAN, _INK = (40, 110, 200), (200, 60, 30), (40, 150, 60), (30, 30, 30)
_STRIP_PX = 30
_MARGIN_PX = 8

Points = npt.NDArray[np.float64] | npt.NDArray[np.float32]


class Coverage(NamedTuple):
    """How much of the picture the lens is known in."""

    cells: float
    """Share of the cells of a 4 x 4 grid in which corners were seen."""
    spanned: float
    """Share of the picture inside the outermost corners: beyond them the model is only continued."""


def coverage_of(corners_xy: Points, size_wh: tuple[int, int]) -> Coverage:
    """The coverage by corners, N x 2, in pixels."""
    cells = np.clip((corners_xy / np.array(size_wh) * _CELLS).astype(int), 0, _CELLS - 1)
    seen = len(set(map(tuple, cells.tolist()))) / _CELLS**2
    return Coverage(seen, float(cv2.contourArea(_hull(corners_xy))) / (size_wh[0] * size_wh[1]))


def coverage_picture(corners_xy: Sequence[Points], errors_xy: Sequence[Points], size_wh: tuple[int, int]) -> Image:
    """Corners of all views over the picture, each with its error, the line about them, and a caption below.

    Args:
        corners_xy: N x 2 of each view, pixels.
        errors_xy: as many: found minus explained by the lens.
        size_wh: of the camera's pictures.
    """
    width, height = size_wh
    picture = np.full((height, width, 3), 255, np.uint8)
    radius = max(2, width // 400)
    together = np.asarray(np.concatenate(corners_xy), np.float64)
    cv2.polylines(picture, [_hull(together).astype(np.int32)], isClosed=True, color=_SPAN)
    for view, errors in zip(corners_xy, errors_xy, strict=True):
        for (x, y), (dx, dy) in zip(view.tolist(), errors.tolist(), strict=True):
            cv2.circle(picture, (round(x), round(y)), radius, _CORNER, -1, cv2.LINE_AA)
            tip = (round(x + _LONGER * dx), round(y + _LONGER * dy))
            cv2.line(picture, (round(x), round(y)), tip, _ERROR, max(1, radius // 2), cv2.LINE_AA)
    cv2.rectangle(picture, (0, 0), (width - 1, height - 1), _INK)
    spanned = coverage_of(together, size_wh).spanned
    caption = (
        f"{width} x {height} px: blue corners of {len(corners_xy)} views, red {_LONGER} x their error, green the"
        f" {100 * spanned:.0f} % that they span"
    )
    return np.concatenate([picture, _strip(caption, width)])


def _strip(caption: str, width: int) -> Image:
    """A line of text of the picture's width."""
    strip = np.full((_STRIP_PX, width, 3), 255, np.uint8)
    (text_px, _), _ = cv2.getTextSize(caption, cv2.FONT_HERSHEY_SIMPLEX, 1.0, 1)
    scale = min(0.6, (width - 2 * _MARGIN_PX) / text_px)
    place = (_MARGIN_PX, _STRIP_PX - 10)
    cv2.putText(strip, caption, place, cv2.FONT_HERSHEY_SIMPLEX, scale, _INK, 1, cv2.LINE_AA)
    return strip


def _hull(corners_xy: Points) -> npt.NDArray[np.float32]:
    return np.asarray(cv2.convexHull(np.asarray(corners_xy, np.float32)), np.float32)
