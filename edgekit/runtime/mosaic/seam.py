"""Where one frame gives way to the next: a path of least difference, so that a fruit is rarely cut."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from edgekit.contracts import FloatArray, Image

_ROWS_A_STEP = 12
"""The path is found on rows this far apart."""
_MOST_MOVE = 3
"""Columns it may move a step: 14 degrees from the vertical."""
_CENTRE_COST, _CENTRE_MOST = 0.25, 2.0
"""Grey levels a column away from the middle, and at most: where views differ by noise alone, the cut stays near the
middle; leaves and fruit that differ outweigh it."""


def join(left: Image, right: Image) -> Image:
    """One picture of two of the same place (H x W x 3 both): left of the seam from `left`, right of it from `right`."""
    if left.shape[1] < 2:
        return right
    path = seam_path(left, right)
    from_left = (np.arange(left.shape[1])[None, :] < path[:, None]).view(np.uint8)
    return np.asarray(cv2.copyTo(left, from_left, right.copy()), np.uint8)


def seam_path(left: Image, right: Image) -> npt.NDArray[np.intp]:
    """For each of the H rows the first column that is read from `right`, 0 to W - 1.

    The path that minimises the sum of absolute differences along it (dynamic programming over rows, as in
    Efros and Freeman, Image Quilting, 2001).
    """
    cost = _cost(left, right)
    near = np.ones((1, 2 * _MOST_MOVE + 1), np.uint8)
    total = cost.copy()
    for step in range(1, len(cost)):
        total[step] += cv2.erode(total[step - 1 : step], near)[0]
    column = int(total[-1].argmin())
    path = [column]
    for ways in total[-2::-1].tolist():
        column = _step(ways, column)
        path.append(column)
    rows = np.arange(left.shape[0])
    middles = np.arange(len(path)) * _ROWS_A_STEP + (_ROWS_A_STEP - 1) / 2
    return np.rint(np.interp(rows, middles, path[::-1])).astype(np.intp)


def _step(ways: list[float], column: int) -> int:
    """The cheapest column within reach; the nearest of those that cost the same."""
    first = max(column - _MOST_MOVE, 0)
    near = ways[first : column + _MOST_MOVE + 1]
    least = min(near)
    if near.count(least) == 1:
        return first + near.index(least)
    return min((first + way for way, cost in enumerate(near) if cost == least), key=lambda way: abs(way - column))


def _cost(left: Image, right: Image) -> FloatArray:
    """Difference in the channel where it is largest, a column and a step; differences of the neighbours count too."""
    size_wh = (left.shape[1], -(-left.shape[0] // _ROWS_A_STEP))
    difference = cv2.resize(cv2.absdiff(left, right), size_wh, interpolation=cv2.INTER_AREA).astype(np.float32)
    red, green, blue = cv2.split(difference)
    cost = cv2.blur(cv2.max(cv2.max(red, green), blue), (3, 3))
    away = np.abs(np.arange(left.shape[1]) - (left.shape[1] - 1) / 2)
    return np.asarray(cost + np.minimum(_CENTRE_COST * away, _CENTRE_MOST), np.float32)
