"""What the made camera does to the picture: exposure, vignetting, noise, dirt on the lens."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from edgekit.contracts import FloatArray, Image

_NOISE_ROOM_PX = 64


@dataclass(frozen=True)
class Look:
    """Photometric faults; the defaults are a clean camera."""

    exposure: tuple[tuple[int, float], ...] = ()
    """(frame, gain): from this frame on the exposure is so many times the first."""
    vignetting: float = 0.0
    """Loss of light in the corners, 0 to 1; it grows with the square of the distance from the middle."""
    noise: float = 0.0
    """Standard deviation of the pixel noise in grey levels."""
    dirt: int = 0
    """Number of specks on the lens, 10 to 40 px large."""
    seed: int = 0


class Lens:
    """Applies a look to frames of one size; the same frame number gives the same picture.

    Args:
        look: what to do.
        size_wh: of the frames.
    """

    def __init__(self, look: Look, size_wh: tuple[int, int]) -> None:
        self._look = look
        self._transmission = _transmission(look, size_wh)
        self._noise = _noise(look, size_wh) if look.noise else None

    def gain(self, number: int) -> float:
        """Exposure of a frame."""
        gain = 1.0
        for start, value in self._look.exposure:
            gain = value if number >= start else gain
        return gain

    def see(self, image: Image, number: int) -> Image:
        """The frame as the camera delivers it."""
        gain = self.gain(number)
        if self._transmission is None and gain == 1.0 and self._noise is None:
            return image
        if self._transmission is not None:
            light = cv2.multiply(image, self._transmission, scale=gain, dtype=cv2.CV_32F)
            seen = cv2.addWeighted(light, 1.0, self._noise_of(number, light), 1.0, 0.0, dtype=cv2.CV_8U)
        elif self._noise is not None:
            seen = cv2.addWeighted(image, gain, self._noise_of(number, image), 1.0, 0.0, dtype=cv2.CV_8U)
        else:
            seen = cv2.convertScaleAbs(image, alpha=gain)
        return np.asarray(seen, np.uint8)

    def _noise_of(self, number: int, like: Image | FloatArray) -> FloatArray:
        if self._noise is None:
            return np.zeros(like.shape, np.float32)
        y, x = np.random.default_rng((self._look.seed, number)).integers(_NOISE_ROOM_PX, size=2)
        return self._noise[y : y + like.shape[0], x : x + like.shape[1]]


def _noise(look: Look, size_wh: tuple[int, int]) -> FloatArray:
    """Noise from which every frame takes a window of its own: drawing it anew for each takes ten times as long."""
    width, height = size_wh
    noise = np.empty((height + _NOISE_ROOM_PX, width + _NOISE_ROOM_PX, 3), np.float32)
    np.random.default_rng(look.seed).standard_normal(dtype=np.float32, out=noise)
    noise *= np.float32(look.noise)
    return noise


def _transmission(look: Look, size_wh: tuple[int, int]) -> FloatArray | None:
    """Share of the light that reaches each pixel, H x W x 3; None where it is all of it."""
    if not look.vignetting and not look.dirt:
        return None
    width, height = size_wh
    y, x = np.mgrid[-height : height : height * 1j, -width : width : width * 1j]
    share = (1.0 - look.vignetting * (x * x + y * y) / (width**2 + height**2)).astype(np.float32)
    rng = np.random.default_rng(look.seed)
    for _ in range(look.dirt):
        centre = (int(rng.integers(width)), int(rng.integers(height)))
        axes = (int(rng.integers(5, 20)), int(rng.integers(5, 20)))
        speck = np.zeros((height, width), np.float32)
        cv2.ellipse(speck, centre, axes, float(rng.uniform(0, 180)), 0, 360, float(rng.uniform(0.4, 0.8)), -1)
        share *= 1.0 - cv2.GaussianBlur(speck, (0, 0), 1.5)
    return np.repeat(np.asarray(share, np.float32)[:, :, None], 3, axis=2)
