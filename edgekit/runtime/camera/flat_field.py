"""The fall-off of light towards the corners: from a white board, or estimated from a row that passes by."""

from __future__ import annotations

from collections.abc import Iterable

import cv2
import numpy as np
import numpy.typing as npt

from edgekit.contracts import FloatArray, Frame, Image
from edgekit.errors import SourceError
from edgekit.wording import counted

_SMALL_WIDTH_PX = 128
_SMOOTH_PX = 2.0
"""Of the small picture: dust on the board goes, the fall-off stays."""
_DARK, _BRIGHT = 30.0, 245.0
_MOST_GAIN = 3.0
"""Darker corners than a third of the middle are the edge of the lens, not its fall-off."""
_LEAST_FRAMES = 100
_EVERY = 5


def gain_of_board(board: Image) -> FloatArray:
    """What each pixel must be multiplied by (H x W x 3, 1 on average over the middle).

    Raises:
        SourceError: the picture is too dark, blown out, or no even board.
    """
    height, width = board.shape[:2]
    small = _small(board)
    grey = small.mean(axis=2)
    if grey.mean() < _DARK or np.quantile(grey, 0.99) > _BRIGHT:
        raise SourceError(
            f"the picture of the board has grey levels of {grey.min():.0f} to {grey.max():.0f}",
            mend="expose it to about 150 in the middle",
        )
    smooth = cv2.GaussianBlur(small, (0, 0), _SMOOTH_PX, borderType=cv2.BORDER_REPLICATE)
    if float(np.std(small / np.maximum(smooth, 1.0))) > 0.05:
        raise SourceError("the picture of the board shows more than a board", mend="fill the whole picture with it")
    h, w = smooth.shape[:2]
    middle = smooth[h // 3 : -(h // 3), w // 3 : -(w // 3)].mean(axis=(0, 1))
    gain = np.clip(middle / np.maximum(smooth, 1.0), 1 / _MOST_GAIN, _MOST_GAIN).astype(np.float32)
    return np.asarray(cv2.resize(gain, (width, height), interpolation=cv2.INTER_CUBIC), np.float32)


def board_from_row(frames: Iterable[Frame]) -> Image:
    """A picture of a white board as this camera would give it, estimated from frames of a row that passes.

    Columns of the scene average out while it passes, rows do not (the sky is brighter than the ground). So the
    logarithm of the mean picture is taken for a sum of one value a row and of a r^2 + b r^4, whose parts along x show a
    and b (least squares); r is the distance from the middle.

    Raises:
        SourceError: too few frames.
    """
    total: npt.NDArray[np.float64] | None = None
    seen, size_wh = 0, (0, 0)
    for frame in frames:
        own_wh = frame.image.shape[1], frame.image.shape[0]
        if frame.fault is not None or (total is not None and own_wh != size_wh):
            continue
        if seen % _EVERY == 0:
            small = _small(frame.image).mean(axis=2)
            size_wh, total = own_wh, small if total is None else total + small
        seen += 1
    if total is None or seen < _LEAST_FRAMES:
        what = f"the fall-off cannot be told from {counted(seen, 'frame')}"
        raise SourceError(what, mend=f"give a ride of {_LEAST_FRAMES} or more")
    fall_off = _radial(np.log(np.maximum(total / -(-seen // _EVERY), 1.0)))
    level = np.clip(200.0 * fall_off / fall_off.max(), 1, 255).astype(np.float32)
    grey = cv2.resize(level, size_wh, interpolation=cv2.INTER_CUBIC)
    return np.asarray(np.repeat(np.clip(np.rint(grey), 0, 255)[:, :, None], 3, axis=2), np.uint8)


def _radial(log_mean: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Fall-off by the distance from the middle, 1 in the middle."""
    rows, columns = log_mean.shape
    y = (np.arange(rows) - (rows - 1) / 2)[:, None] * 2 / columns
    x = (np.arange(columns) - (columns - 1) / 2)[None, :] * 2 / columns
    squared = x**2 + y**2
    terms = [squared, squared**2]
    centred = [term - term.mean(axis=1, keepdims=True) for term in terms]
    wanted = log_mean - log_mean.mean(axis=1, keepdims=True)
    factors, *_ = np.linalg.lstsq(np.stack([term.ravel() for term in centred], axis=1), wanted.ravel(), rcond=None)
    return np.asarray(np.exp(sum(factor * term for factor, term in zip(factors, terms, strict=True))), np.float64)


def _small(image: Image) -> npt.NDArray[np.float64]:
    scale = _SMALL_WIDTH_PX / image.shape[1]
    size_wh = (_SMALL_WIDTH_PX, max(8, round(image.shape[0] * scale)))
    return np.asarray(cv2.resize(image, size_wh, interpolation=cv2.INTER_AREA), np.float64)
