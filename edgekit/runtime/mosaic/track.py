"""Where each frame lies, added up from displacements, and what that says of the trolley."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from edgekit.contracts import Displacement
from edgekit.runtime.records import FrameStatus

_SLOW_PX = 0.5
"""A frame that moved less than this since the one before it may show a stop."""
_STILL_PX = 0.1
"""Mean movement a frame, over the last slow frames, below which it is one; above it the trolley creeps."""
_SLOW_FRAMES = 8
_BEHIND_PX = 1.0
"""A frame that lies less than this behind the furthest point is not called a reversal: positions carry noise."""


class Position(NamedTuple):
    """Where a frame lies; column 0 is the left edge of the first frame."""

    x_px: float
    y_px: float
    status: FrameStatus
    confidence: float
    reason: str | None


class Track:
    """Adds up displacements (in double precision) and names what each frame shows."""

    def __init__(self) -> None:
        self._x_px = 0.0
        self._y_px = 0.0
        self._least_px = 0.0
        self._most_px = 0.0
        self._slow: deque[float] = deque(maxlen=_SLOW_FRAMES)

    def move(self, displacement: Displacement, direction: int) -> Position:
        """Take the displacement of the scene since the last frame.

        Args:
            displacement: a reason in it means that it was predicted.
            direction: +1 or -1 once the direction of travel is settled, before that 0.
        """
        self._x_px -= displacement.dx_px
        self._y_px -= displacement.dy_px
        if abs(displacement.dx_px) >= _SLOW_PX:
            self._slow.clear()
        self._slow.append(self._x_px)
        behind_px = {1: self._most_px - self._x_px, -1: self._x_px - self._least_px, 0: 0.0}[direction]
        status, reason = self._status(displacement, behind_px)
        if status != "bridged":
            self._least_px = min(self._least_px, self._x_px)
            self._most_px = max(self._most_px, self._x_px)
        return Position(self._x_px, self._y_px, status, displacement.confidence, reason)

    def _status(self, displacement: Displacement, behind_px: float) -> tuple[FrameStatus, str | None]:
        if displacement.reason is not None:
            return "bridged", displacement.reason
        if behind_px > _BEHIND_PX:
            return "reversed", f"{behind_px:.1f} px behind the furthest point"
        if self._stands(displacement.dx_px):
            return "stopped", f"moved {abs(displacement.dx_px):.2f} px"
        return "placed", None

    def _stands(self, dx_px: float) -> bool:
        """True where the last slow frames went nowhere together; noise goes to and fro, creeping adds up."""
        if abs(dx_px) >= _SLOW_PX:
            return False
        if len(self._slow) < 2:
            return abs(dx_px) < _STILL_PX
        return abs(self._slow[-1] - self._slow[0]) < _STILL_PX * (len(self._slow) - 1)


class DriftBound:
    """Follows vertical drift within bounds; at a bound its origin goes along, so that the row stays in the picture."""

    def __init__(self, bound_px: float) -> None:
        self._bound_px = bound_px
        self._origin_px = 0.0

    def correct(self, y_px: float) -> float:
        """The offset at which the frame is drawn, within -bound to +bound."""
        self._origin_px = min(max(self._origin_px, y_px - self._bound_px), y_px + self._bound_px)
        return y_px - self._origin_px
