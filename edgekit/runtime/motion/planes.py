"""What displacement is measured on: the band at three resolutions.

In the coarser two each pixel is its difference from the local mean over the local contrast, so that neither a step of
the exposure nor a bright background outweighs the leaves.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt
import scipy.fft

from edgekit.contracts import FloatArray, Image
from edgekit.runtime.motion.settings import DisplacementSettings

_FINE_WIDTH_PX = 640
"""Blocks are matched at about this width."""
_SHARP_WIDTH_PX = 1280
"""The last fraction of a pixel is found at about this width: halving a frame aliases its finest detail, and on photo
rows that pulled displacements by up to 0.04 px towards even numbers; unhalved it is 0.005 px."""
_SOFT_PX = 5
"""Side of the Gaussian window on the sharp plane. The matching reads between pixels bilinearly, which dims fine detail
and pulls displacements by up to 0.007 px a frame, alike in every frame of a steady ride; softened it is 0.002 px."""
_CONTRAST_PX = 15
"""Side of the window of local mean and contrast, in fine pixels: about a berry at 1280 px."""
_FLOOR_GREY = 4.0
"""Contrast below this is noise and is not amplified."""
_STORED_SCALE = 45.0
"""Grey levels a unit of contrast in the 8-bit plane: 2.8 units either way are kept."""


@dataclass(frozen=True, eq=False)
class Planes:
    """One frame, ready to be matched."""

    sharp: npt.NDArray[np.uint8]
    """The band in grey levels, at full resolution or about 1280 px wide."""
    fine: npt.NDArray[np.uint8]
    """The band at fine resolution, 128 where the pixel equals its surroundings."""
    coarse: FloatArray
    """The band at half of that, 0 where the pixel equals its surroundings."""
    exposure: tuple[float, float]
    """Mean and standard deviation of the sharp plane."""
    spectrum: npt.NDArray[np.complex64]
    """Whitened spectra of the rows of the coarse plane, at half its rows."""


class PlaneMaker:
    """Makes planes of frames of one size.

    Args:
        settings: the band.
        size_wh: of the frames.
    """

    def __init__(self, settings: DisplacementSettings, size_wh: tuple[int, int]) -> None:
        width, height = size_wh
        self.sharp_factor = max(1, round(width / _SHARP_WIDTH_PX))
        """Frame pixels a sharp pixel."""
        self._halving = max(1, round(width / self.sharp_factor / _FINE_WIDTH_PX))
        self.factor = self.sharp_factor * self._halving
        """Frame pixels a fine pixel; a coarse one is two fine ones, a row of the spectrum four."""
        top, bottom = (round(height * share) for share in settings.band)
        unit = 4 * self.factor
        self.spectrum_rows = max((bottom - top) // unit, 1)
        """Rows of the spectrum."""
        self._rows = slice(top, top + self.spectrum_rows * unit)
        self._columns = slice(0, max(width // unit, 1) * unit)
        columns = self._columns.stop // (2 * self.factor)
        self._window = np.hanning(columns).astype(np.float32)
        self.transform_px = scipy.fft.next_fast_len(columns, real=True)
        """Length of the row transforms, in coarse pixels."""

    def __call__(self, image: Image) -> Planes:
        """The planes of a frame."""
        grey = _shrunk(cv2.cvtColor(image[self._rows, self._columns], cv2.COLOR_RGB2GRAY), self.sharp_factor)
        sharp = np.asarray(cv2.GaussianBlur(grey, (_SOFT_PX, _SOFT_PX), 0), np.uint8)
        plane = _flattened(_shrunk(sharp, self._halving))
        fine = np.asarray(cv2.addWeighted(plane, _STORED_SCALE, plane, 0.0, 128.0, dtype=cv2.CV_8U), np.uint8)
        coarse = cv2.resize(plane, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
        mean, spread = cv2.meanStdDev(sharp)
        exposure = float(mean[0, 0]), float(spread[0, 0])
        return Planes(sharp, fine, np.asarray(coarse, np.float32), exposure, self._spectrum(coarse))

    def _spectrum(self, coarse: FloatArray) -> npt.NDArray[np.complex64]:
        rows = cv2.resize(coarse, None, fx=1.0, fy=0.5, interpolation=cv2.INTER_AREA) * self._window
        spectrum = scipy.fft.rfft(rows, self.transform_px)
        size = np.abs(spectrum)
        return np.asarray(spectrum / (size + 0.1 * size.mean() + 1e-6), np.complex64)


def _flattened(grey: npt.NDArray[np.uint8]) -> FloatArray:
    """Each pixel's difference from the local mean, over the local contrast."""
    window = (_CONTRAST_PX, _CONTRAST_PX)
    mean, power = cv2.boxFilter(grey, cv2.CV_32F, window), cv2.sqrBoxFilter(grey, cv2.CV_32F, window)
    variance = cv2.max(cv2.subtract(power, cv2.multiply(mean, mean)), 0.0)
    contrast = cv2.add(cv2.sqrt(variance), _FLOOR_GREY)
    return np.asarray(cv2.divide(cv2.subtract(grey, mean, dtype=cv2.CV_32F), contrast), np.float32)


def _shrunk(plane: npt.NDArray[np.uint8], factor: int) -> npt.NDArray[np.uint8]:
    if factor == 1:
        return plane
    size_wh = (plane.shape[1] // factor, plane.shape[0] // factor)
    return np.asarray(cv2.resize(plane, size_wh, interpolation=cv2.INTER_AREA), np.uint8)
