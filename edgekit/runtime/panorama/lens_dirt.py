"""Dirt on the lens: what stands still in the frames while the row moves."""

from __future__ import annotations

import cv2
import numpy as np

from edgekit.contracts import FloatArray

_GREY = 8.0
_CHANCE = 4.0
"""Standard deviations of the mean of a moving scene beyond which a pixel stands still."""
_LEAST_LOOKS = 20
"""Looks that are averaged before dirt is spoken of: a moving scene averages out, dirt does not."""
_MOVED_WIDTHS = 0.05
_ACROSS_PX = 31


class LensDirt:
    """Averages frames at a reduced size; constant memory."""

    def __init__(self) -> None:
        self._still: FloatArray | None = None
        self._looks = 0
        self._power = 0.0
        self._looked_at: float | None = None

    def see(self, grey: FloatArray, at_widths: float) -> None:
        """Add what differs from left and right to the mean, unless the row has hardly moved since the last look.

        Args:
            grey: H x W, the frame at a reduced size.
            at_widths: where it lies along the row, in frame widths.
        """
        if self._looked_at is not None and abs(at_widths - self._looked_at) < _MOVED_WIDTHS:
            return
        self._looked_at = at_widths
        across = grey - cv2.blur(grey, (_ACROSS_PX, 1))
        self._looks += 1
        self._power += (float(np.mean(across**2)) - self._power) / self._looks
        last = across if self._still is None else self._still
        self._still = np.asarray(last + (across - last) / self._looks, np.float32)

    @property
    def share(self) -> float | None:
        """Share of the picture that stands still; None after too few looks."""
        if self._still is None or self._looks < _LEAST_LOOKS:
            return None
        chance = _CHANCE * np.sqrt(self._power / self._looks)
        return float(np.mean(np.abs(self._still) > max(_GREY, chance)))
