"""What became of each frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FrameStatus = Literal["placed", "bridged", "stopped", "reversed", "dropped"]
"""placed: its position was measured and it lies at or beyond the furthest point. bridged: its position was predicted.
stopped: the scene stood still. reversed: the trolley went back, nothing new is seen. dropped: not used."""


@dataclass(frozen=True, slots=True)
class FrameRecord:
    """One line of offsets.csv."""

    frame: int
    """Sequence number that the source gave."""
    time_s: float
    x_px: float | None
    """Panorama column of the frame's left edge, in the coordinates of `Columns.x_px`; None for a dropped frame."""
    y_px: float | None
    """Panorama row of the frame's top edge before the bounded correction of drift; None for a dropped frame."""
    confidence: float | None
    """0 to 1; None for a dropped frame."""
    status: FrameStatus
    reason: str | None
    """Why the status is not `placed`, in words."""
