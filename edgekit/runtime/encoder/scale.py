"""Pixels a millimetre, from what pictures and encoder say of the same movements."""

from __future__ import annotations

import math
from collections import deque

_LEAST_MM = 1.0
"""A frame that moved less says nothing of the scale."""
_FIRST_FRAMES = 7
"""Frames whose median is the first guess."""
_AGREES = 0.3
"""A frame whose ratio differs more from the scale so far was measured wrongly, or shows another depth."""
_SURE_MM = 200.0
"""Distance over which the scale must be added up before it is given out."""


class Scale:
    """Adds up pixels and millimetres of frames that agree with each other."""

    def __init__(self) -> None:
        self._first: deque[tuple[float, float]] = deque(maxlen=_FIRST_FRAMES)
        self._px = 0.0
        self._mm = 0.0

    @property
    def px_per_mm(self) -> float | None:
        """Signed: displacement of the scene a millimetre of the encoder. None before a few frames agree."""
        return self._px / self._mm if self._mm else None

    @property
    def px_per_metre(self) -> float | None:
        """Scale of the panorama; None before it is sure."""
        if self.px_per_mm is None or abs(self._mm) < _SURE_MM:
            return None
        return abs(self.px_per_mm) * 1000.0

    def learn(self, dx_px: float, moved_mm: float) -> None:
        """Take what both say of one frame."""
        if abs(moved_mm) < _LEAST_MM or not math.isfinite(dx_px):
            return
        if self.px_per_mm is None:
            self._guess(dx_px, moved_mm)
        elif abs(dx_px / moved_mm / self.px_per_mm - 1) < _AGREES:
            self._add(dx_px, moved_mm)

    def _guess(self, dx_px: float, moved_mm: float) -> None:
        """The median of the first frames, and those that agree with it."""
        self._first.append((dx_px, moved_mm))
        if len(self._first) < _FIRST_FRAMES:
            return
        middle = sorted(px / mm for px, mm in self._first)[_FIRST_FRAMES // 2]
        agreeing = [(px, mm) for px, mm in self._first if middle and abs(px / mm / middle - 1) < _AGREES]
        if len(agreeing) > _FIRST_FRAMES // 2:
            for px, mm in agreeing:
                self._add(px, mm)

    def _add(self, dx_px: float, moved_mm: float) -> None:
        """Both turned to a movement of one sign, so that a reversal does not cancel what was ridden."""
        sign = math.copysign(1.0, moved_mm)
        self._px += sign * dx_px
        self._mm += sign * moved_mm
