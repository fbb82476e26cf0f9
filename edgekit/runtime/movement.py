"""What the trolley does, as the records of the frames tell it: does it stand, does it go back."""

from __future__ import annotations

from edgekit.runtime.records import FrameRecord


class Movement:
    """Follows one row. A frame that could not be used tells nothing."""

    def __init__(self) -> None:
        self._standing_from_s: float | None = None
        self._furthest_px: float | None = None
        self.stood_s = 0.0
        """For how long it has stood still, by the times of the frames; 0 while it moves."""
        self.back_px = 0.0
        """How far it has gone back from the furthest point, in panorama pixels; 0 where it is there."""

    def see(self, record: FrameRecord, direction: int) -> None:
        """Take the record of the next frame, in a panorama that grows to the right (+1) or left (-1)."""
        if record.status == "dropped" or record.x_px is None:
            return
        way_px = record.x_px * direction
        self._furthest_px = way_px if self._furthest_px is None else max(way_px, self._furthest_px)
        self.back_px = self._furthest_px - way_px
        if record.status != "stopped":
            self._standing_from_s, self.stood_s = None, 0.0
            return
        self._standing_from_s = record.time_s if self._standing_from_s is None else self._standing_from_s
        self.stood_s = record.time_s - self._standing_from_s
