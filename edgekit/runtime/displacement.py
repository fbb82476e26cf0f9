"""Displacement of the scene by phase correlation in a band: the simple estimator."""

from __future__ import annotations

import cv2
import numpy as np

from edgekit.contracts import Displacement, FloatArray, Frame
from edgekit.runtime.displacement_settings import DisplacementSettings

_LOW = 0.05


class PhaseCorrelation:
    """Measures each frame against the one before it by one phase correlation over the band."""

    def __init__(self, settings: DisplacementSettings) -> None:
        self._settings = settings
        self._last: FloatArray | None = None
        self._window: FloatArray | None = None

    def measure(self, frame: Frame) -> Displacement | None:
        """Displacement since the last frame; None for the first one."""
        plane = self._plane(frame)
        last, self._last = self._last, plane
        if last is None:
            return None
        if self._window is None:
            self._window = np.asarray(cv2.createHanningWindow(plane.shape[::-1], cv2.CV_32F), np.float32)
        (dx_px, dy_px), response = cv2.phaseCorrelate(last, plane, self._window)
        confidence = float(np.clip(response, 0.0, 1.0))
        reason = None if confidence >= _LOW else "no clear peak of the phase correlation"
        return Displacement(2.0 * dx_px, 2.0 * dy_px, confidence, reason)

    def _plane(self, frame: Frame) -> FloatArray:
        height = frame.image.shape[0]
        top, bottom = (round(height * share) for share in self._settings.band)
        half = cv2.resize(frame.image[top:bottom], None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
        return np.asarray(cv2.cvtColor(half, cv2.COLOR_RGB2GRAY), np.float32)
