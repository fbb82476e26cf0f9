"""What the made camera does to the picture: exposure, vignetting, noise, dirt on the lens."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from edgekit.contracts import FloatArray, Image


@dataclass(frozen=True)
class Look:
    """Photometric faults; the defaults are a clean camera."""

    exposure: tuple[tuple[int, float], ...] = ()
    """(frame, gain): from this frame on the exposure is so many times the first."""
    vignetting: float = 0.0
    """Loss of light in the corners, 0 to 1."""
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

    def gain(self, number: int) -> float:
        """Exposure of a frame."""
        gain = 1.0
        for start, value in self._look.exposure:
            gain = value if number >= start else gain
        return gain

    def see(self, image: Image, number: int) -> Image:
        """The frame as the camera delivers it."""
        gain = self.gain(number)
        if self._transmission is None and gain == 1.0 and not self._look.noise:
            return image
        light = image.astype(np.float32) * np.float32(gain)
        if self._transmission is not None:
            light *= self._transmission[:, :, None]
        if self._look.noise:
            noise = np.empty(image.shape, np.float32)
            np.random.default_rng((self._look.seed, number)).standard_normal(dtype=np.float32, out=noise)
            light += np.float32(self._look.noise) * noise
        return np.asarray(np.clip(np.rint(light), 0, 255), np.uint8)


def _transmission(look: Look, size_wh: tuple[int, int]) -> FloatArray | None:
    """Share of the light that reaches each pixel, H x W; None where it is all of it."""
    if not look.vignetting and not look.dirt:
        return None
    width, height = size_wh
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    share = (1.0 - look.vignetting * (x * x + y * y) / 2).astype(np.float32)
    rng = np.random.default_rng(look.seed)
    for _ in range(look.dirt):
        centre = (int(rng.integers(width)), int(rng.integers(height)))
        axes = (int(rng.integers(5, 20)), int(rng.integers(5, 20)))
        speck = np.zeros((height, width), np.float32)
        cv2.ellipse(speck, centre, axes, float(rng.uniform(0, 180)), 0, 360, float(rng.uniform(0.4, 0.8)), -1)
        share *= 1.0 - cv2.GaussianBlur(speck, (0, 0), 1.5)
    return np.asarray(share, np.float32)
