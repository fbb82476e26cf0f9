"""Lens, roll and fall-off of one camera, undone in the one resampling that a panorama pixel goes through."""

from __future__ import annotations

import math

import cv2
import numpy as np
import numpy.typing as npt

from edgekit.contracts import FloatArray, Image
from edgekit.errors import SettingsError
from edgekit.runtime.camera.flat_field import gain_of_board
from edgekit.runtime.camera.lens import Lens, read_lens
from edgekit.runtime.mosaic.resample import read_window
from edgekit.runtime.sources.description import CameraDescription
from edgekit.runtime.sources.pictures import BrokenPictureError, read_picture

_ROLL_LEAST_DEG = 0.05
_BESIDE_PX = 8


class CameraOptics:
    """Reads the picture that a straight, level and even camera would have given.

    Straight pixels are looked up in the camera's picture where lens and roll put them (OpenCV's model), by Lanczos
    interpolation on 8 x 8 pixels: resampled once, at the mosaic's sub-pixel position. The straight picture has the size
    of the camera's, and is filled: what the lens bends out of it is left out.

    Args:
        lens: None: it is straight.
        roll_deg: how far the row falls to the right in the picture.
        gain: H x W x 3, what each pixel is multiplied by; None: the light is even.
    """

    def __init__(self, lens: Lens | None, roll_deg: float = 0.0, gain: FloatArray | None = None) -> None:
        self._lens = lens
        self._roll_deg = roll_deg if abs(roll_deg) >= _ROLL_LEAST_DEG else 0.0
        self._gain = gain
        self._size_wh = (0, 0)
        self._camera: npt.NDArray[np.float64] = np.eye(3)
        self._straight_camera: npt.NDArray[np.float64] = np.eye(3)
        self._distortion = np.zeros(5) if lens is None else np.array(lens.distortion, np.float64)
        turn = math.radians(self._roll_deg)
        self._rotation = np.array(
            [[math.cos(turn), math.sin(turn), 0], [-math.sin(turn), math.cos(turn), 0], [0, 0, 1]], np.float64
        )
        self._maps: tuple[npt.NDArray[np.int16], npt.NDArray[np.uint16]] | None = None

    @property
    def _bends(self) -> bool:
        return self._lens is not None or self._roll_deg != 0.0

    def read(self, image: Image, origin_xy: tuple[float, float], size_wh: tuple[int, int]) -> Image:
        """Pixel (i, j) of the result is read at (i + x, j + y) of the straight picture; black where that is outside.

        Raises:
            SettingsError: the picture has another shape than those the lens or the flat field belong to.
        """
        if not size_wh[0] or not size_wh[1]:
            return np.zeros((size_wh[1], size_wh[0], 3), np.uint8)
        self._fit(image)
        if not self._bends:
            left, even = self._evened(image, origin_xy[0], origin_xy[0] + size_wh[0])
            return read_window(even, (origin_xy[0] - left, origin_xy[1]), size_wh)
        shifted = self._straight_camera.copy()
        shifted[:2, 2] -= origin_xy
        x_map, y_map = cv2.initUndistortRectifyMap(
            self._camera, self._distortion, self._rotation, shifted, size_wh, cv2.CV_32FC1
        )
        left, even = self._evened(image, float(x_map.min()), float(x_map.max()))
        part = cv2.remap(even, x_map - np.float32(left), y_map, cv2.INTER_LANCZOS4, borderMode=cv2.BORDER_CONSTANT)
        return np.asarray(part, np.uint8)

    def straight(self, image: Image, band: tuple[float, float]) -> Image:
        """The band of the picture, grey, bilinear, the rest black: to measure movement. Costs a sixth of the whole."""
        if not self._bends:
            return image
        self._fit(image)
        height = image.shape[0]
        top, bottom = math.floor(band[0] * height), min(math.ceil(band[1] * height), height)
        if self._maps is None or self._maps[0].shape[0] != bottom - top:
            self._maps = self._band_maps(top, bottom)
        grey = cv2.remap(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), *self._maps, cv2.INTER_LINEAR)
        seen = np.zeros_like(image)
        cv2.cvtColor(grey, cv2.COLOR_GRAY2RGB, dst=seen[top:bottom])
        return seen

    def _band_maps(self, top: int, bottom: int) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.uint16]]:
        shifted = self._straight_camera.copy()
        shifted[1, 2] -= top
        size_wh = (self._size_wh[0], bottom - top)
        first, second = cv2.initUndistortRectifyMap(
            self._camera, self._distortion, self._rotation, shifted, size_wh, cv2.CV_16SC2
        )
        return np.asarray(first, np.int16), np.asarray(second, np.uint16)

    def _evened(self, image: Image, first_px: float, last_px: float) -> tuple[int, Image]:
        """The columns from first to last and those that interpolation needs beside them, with their fall-off undone;
        before them the number of the leftmost."""
        width_px = image.shape[1]
        left = min(max(math.floor(first_px) - _BESIDE_PX, 0), width_px - 1)
        right = max(min(math.ceil(last_px) + _BESIDE_PX, width_px), left + 1)
        part = image[:, left:right]
        if self._gain is None:
            return left, part
        return left, np.asarray(cv2.convertScaleAbs(part * self._gain[:, left:right]), np.uint8)

    def _fit(self, image: Image) -> None:
        """Camera matrices for pictures of this size."""
        size_wh = (image.shape[1], image.shape[0])
        if size_wh == self._size_wh:
            return
        if self._gain is not None and self._gain.shape[1::-1] != size_wh:
            there, here = "{} x {}".format(*self._gain.shape[1::-1]), "{} x {}".format(*size_wh)
            raise SettingsError(f"the flat field has {there} px, the frames have {here} px", mend="take it again")
        self._size_wh, self._maps = size_wh, None
        if self._lens is not None:
            self._camera = self._lens.matrix(size_wh)
            self._straight_camera = cv2.getOptimalNewCameraMatrix(self._camera, self._distortion, size_wh, 0)[0]
        else:
            focal_px = float(size_wh[0])
            centre = (size_wh[0] - 1) / 2, (size_wh[1] - 1) / 2
            self._camera = np.array([[focal_px, 0, centre[0]], [0, focal_px, centre[1]], [0, 0, 1]], np.float64)
            self._straight_camera = self._camera


def optics_of(camera: CameraDescription) -> CameraOptics | None:
    """The optics of a camera by its description; None where its pictures are straight, level and even.

    Raises:
        SettingsError: the calibration of the lens cannot be used.
        SourceError: the picture of the board cannot be used.
    """
    lens = None if camera.lens is None else read_lens(camera.lens)
    gain = None
    if camera.flat_field is not None:
        try:
            gain = gain_of_board(read_picture(camera.flat_field))
        except BrokenPictureError as error:
            raise SettingsError(f"cannot read the flat field {camera.flat_field}: {error}") from error
    if lens is None and gain is None and abs(camera.roll_deg) < _ROLL_LEAST_DEG:
        return None
    return CameraOptics(lens, camera.roll_deg, gain)
