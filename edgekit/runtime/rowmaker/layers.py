"""What lies before or behind the row at another depth, and what repeats or shows nothing."""

from __future__ import annotations

from typing import Protocol

import cv2
import numpy as np
import numpy.typing as npt

from edgekit.contracts import FloatArray, Image

_POST_GREY, _SHEET_GREY = 150, 200
_EDGE_PX = 3.0
"""Width of the edge of a post: harder ones hold detail that no camera sees, and ring when they are resampled."""


class Layer(Protocol):
    """Something that changes a frame by where the camera stands."""

    def laid_over(self, image: Image, origin_xy: tuple[float, float]) -> Image:
        """The frame with this layer, where the frame's top left corner lies at `origin_xy` of the strip."""
        ...


class DepthLayer:
    """A layer that moves faster (before the row) or slower (behind it) than the row itself.

    Args:
        image: its texture, H x W x 3; repeated along the row.
        opacity: H x W, 0 to 1, where it covers. Before the row it belongs to the texture; behind the row it says where
            the row has holes, moves with the row, and is repeated as well.
        speed: times the speed of the row.
    """

    def __init__(self, image: Image, opacity: FloatArray, *, speed: float) -> None:
        self._image, self._opacity, self._speed = image, opacity.astype(np.float32), speed

    def laid_over(self, image: Image, origin_xy: tuple[float, float]) -> Image:
        """The frame with this layer."""
        x_px, y_px = origin_xy
        size_wh = (image.shape[1], image.shape[0])
        texture = _repeated(self._image, (x_px * self._speed, y_px), size_wh)
        holes_px = x_px * (self._speed if self._speed > 1 else 1.0)
        cover = _repeated(self._opacity, (holes_px, y_px), size_wh)
        return np.asarray(cv2.blendLinear(image, texture, 1 - cover, cover), np.uint8)


class Posts:
    """Upright posts at equal distances, in front of the row and moving with it."""

    def __init__(self, *, period_px: int = 40, width_px: int = 10, stretch_px: tuple[int, int] | None = None) -> None:
        """Posts of `width_px` every `period_px`, within a stretch of the strip or everywhere."""
        self._period_px, self._width_px, self._stretch_px = period_px, width_px, stretch_px

    def laid_over(self, image: Image, origin_xy: tuple[float, float]) -> Image:
        """The frame with the posts; their edges lie at sub-pixel positions and are as soft as a lens leaves them."""
        x_px = np.arange(image.shape[1]) + origin_xy[0]
        half_px = self._period_px / 2
        off_px = np.abs(np.mod(x_px - self._width_px / 2 + half_px, self._period_px) - half_px)
        ramp = np.clip((self._width_px / 2 - off_px) / _EDGE_PX + 0.5, 0, 1)
        cover = ramp * ramp * (3 - 2 * ramp)
        if self._stretch_px:
            cover = cover * ((x_px >= self._stretch_px[0]) & (x_px < self._stretch_px[1]))
        return _covered(image, cover, _POST_GREY)


class Blank:
    """A stretch of the row that shows nothing: a sheet of one colour."""

    def __init__(self, start_px: int, stop_px: int) -> None:
        """Between two columns of the strip."""
        self._start_px, self._stop_px = start_px, stop_px

    def laid_over(self, image: Image, origin_xy: tuple[float, float]) -> Image:
        """The frame with the sheet."""
        x_px = np.arange(image.shape[1]) + origin_xy[0]
        cover = np.clip(np.minimum(x_px - self._start_px, self._stop_px - x_px), 0, 1)
        return _covered(image, cover, _SHEET_GREY)


def leaves(texture: Image, *, share: float, seed: int = 0) -> FloatArray:
    """Opacity of scattered leaves over a texture, H x W, that cover about `share` of it."""
    rng = np.random.default_rng(seed)
    height, width = texture.shape[:2]
    cover = np.zeros((height, width), np.float32)
    while cover.mean() < share:
        centre = (int(rng.integers(60, width - 60)), int(rng.integers(height)))
        axes = (int(rng.integers(25, 60)), int(rng.integers(12, 30)))
        cv2.ellipse(cover, centre, axes, float(rng.uniform(0, 180)), 0, 360, 1.0, -1)
    return np.asarray(cv2.GaussianBlur(cover, (0, 0), 1.0), np.float32)


def _covered(image: Image, cover: npt.NDArray[np.float64], grey: int) -> Image:
    """The frame where each column is hidden by its share of `cover` (W) behind something grey."""
    hidden = np.broadcast_to(cover.astype(np.float32), image.shape[:2]).copy()
    return np.asarray(cv2.blendLinear(image, np.full_like(image, grey), 1 - hidden, hidden), np.uint8)


def _repeated(image: np.ndarray, origin_xy: tuple[float, float], size_wh: tuple[int, int]) -> np.ndarray:
    """A window of a picture that is repeated along x, read bilinearly."""
    start = int(np.floor(origin_xy[0]))
    first, width = start % image.shape[1], size_wh[0] + 1
    part = image[:, first : first + width]
    if part.shape[1] < width:
        part = image[:, np.arange(first, first + width) % image.shape[1]]
    matrix = np.array([[1, 0, origin_xy[0] - start], [0, 1, origin_xy[1]]])
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    return np.asarray(cv2.warpAffine(part, matrix, size_wh, flags=flags, borderMode=cv2.BORDER_REPLICATE))
