"""Where one frame gives way to the next: a path of least difference, so that a fruit is rarely cut."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from edgekit.contracts import FloatArray, Image

_ROWS_A_STEP = 4
"""The path is found on rows this far apart; it may move one column a step, that is 14 degrees from the vertical."""
_CENTRE_COST = 0.02
"""Grey levels a column away from the middle: where nothing differs, the cut is straight and in the middle."""


def join(left: Image, right: Image) -> Image:
    """One picture of two of the same place (H x W x 3 both): left of the seam from `left`, right of it from `right`."""
    if left.shape[1] < 2:
        return right
    path = seam_path(left, right)
    from_left = np.arange(left.shape[1])[None, :] < path[:, None]
    return np.where(from_left[:, :, None], left, right)


def seam_path(left: Image, right: Image) -> npt.NDArray[np.intp]:
    """For each of the H rows the first column that is read from `right`, 0 to W - 1.

    The path that minimises the sum of absolute differences along it (dynamic programming over rows, as in
    Efros and Freeman, Image Quilting, 2001).
    """
    cost = _cost(left, right)
    steps, columns = cost.shape
    total = np.full((steps, columns + 2), np.inf, np.float32)
    total[0, 1:-1] = cost[0]
    for step in range(1, steps):
        above, here = total[step - 1], total[step, 1:-1]
        np.minimum(above[:-2], above[2:], out=here)
        np.minimum(here, above[1:-1], out=here)
        here += cost[step]
    path = np.empty(steps, np.intp)
    path[-1] = int(total[-1, 1:-1].argmin())
    for step in range(steps - 1, 0, -1):
        column = int(path[step])
        ways = total[step - 1, column : column + 3].tolist()
        path[step - 1] = column + min((0, -1, 1), key=lambda move: ways[move + 1])
    return np.repeat(path, _ROWS_A_STEP)[: left.shape[0]]


def _cost(left: Image, right: Image) -> FloatArray:
    """Mean absolute difference of a block of rows, a column; differences of the neighbours count too."""
    difference = cv2.absdiff(left, right).max(axis=2)
    rows = -(-left.shape[0] // _ROWS_A_STEP)
    size_wh = (left.shape[1], rows)
    cost = cv2.blur(cv2.resize(difference, size_wh, interpolation=cv2.INTER_AREA).astype(np.float32), (3, 3))
    middle = (left.shape[1] - 1) / 2
    return np.asarray(cost + _CENTRE_COST * np.abs(np.arange(left.shape[1]) - middle), np.float32)
