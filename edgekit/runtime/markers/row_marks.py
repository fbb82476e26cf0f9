"""From frames to rows that begin and end, by the markers at their ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from edgekit.contracts import Frame
from edgekit.runtime.markers.detect import MarkerDetector, Sighting
from edgekit.runtime.markers.payload import RowMark, Side
from edgekit.runtime.markers.settings import MarkerSettings


@dataclass(frozen=True)
class RowEvent:
    """A row begins or ends."""

    kind: Literal["open", "close"]
    row: str
    side: Side | None
    frame: int
    """Sequence number of the frame in which the marker was confirmed."""
    time_s: float


class RowMarks:
    """Looks for markers now and then, and tells when one opens or closes a row.

    A marker with `start` opens its row, one with `end` closes it. One without either opens its row at first sight and
    closes it at the next, after it was out of sight for a while. A marker of another row ends the row that is open: the
    event that opens the new one says so.

    Args:
        settings: kinds, pace, patience.
        side: of the camera; markers for the other side are passed over. None: all are heeded.
    """

    def __init__(self, settings: MarkerSettings, *, side: Side | None = None) -> None:
        self._settings = settings
        self._side = side
        self._detector = MarkerDetector(settings)
        self._looked_s: float | None = None
        self._candidate: tuple[RowMark | None, int] = (None, 0)
        self._seen_s: dict[RowMark, float] = {}
        self._open: str | None = None
        self._scales: list[float] = []

    @property
    def open_row(self) -> str | None:
        """The row that markers have opened and not closed."""
        return self._open

    @property
    def px_per_metre(self) -> float | None:
        """Median scale at the markers' distance, seen near the middle of the frame; None without a known size."""
        size_mm = self._settings.size_mm
        if size_mm is None or not self._scales:
            return None
        return sorted(self._scales)[len(self._scales) // 2] / size_mm * 1000.0

    def look(self, frame: Frame) -> RowEvent | None:
        """What a marker in this frame changes; None where nothing does."""
        if frame.fault is not None or not self._due(frame.time_s):
            return None
        found = [one for one in self._detector.find(frame.image) if self._mine(one.mark)]
        self._measure(found, frame.image.shape[1])
        mark = found[0].mark if found else None
        count = self._candidate[1] + 1 if mark == self._candidate[0] else 1
        self._candidate = (mark, count)
        if mark is None or count < self._settings.confirm:
            return None
        last_s = self._seen_s.get(mark)
        self._seen_s[mark] = frame.time_s
        if last_s is not None and frame.time_s - last_s < self._settings.gone_s:
            return None
        return self._heed(mark, frame)

    def _due(self, time_s: float) -> bool:
        if self._looked_s is not None and 0 <= time_s - self._looked_s < self._settings.every_s:
            return False
        self._looked_s = time_s
        return True

    def _mine(self, mark: RowMark) -> bool:
        return self._side is None or mark.side in (None, self._side)

    def _measure(self, found: list[Sighting], width_px: int) -> None:
        """Keep the size of markers in the middle half of the frame."""
        for sighting in found:
            middle = float(sighting.corners_xy[:, 0].mean()) / width_px
            if 0.25 <= middle <= 0.75 and sighting.side_px:
                self._scales.append(sighting.side_px)

    def _heed(self, mark: RowMark, frame: Frame) -> RowEvent | None:
        if mark.end == "end" or (mark.end is None and mark.row == self._open):
            if self._open != mark.row:
                return None
            self._open = None
            return RowEvent("close", mark.row, mark.side, frame.sequence, frame.time_s)
        if self._open == mark.row:
            return None
        self._open = mark.row
        return RowEvent("open", mark.row, mark.side, frame.sequence, frame.time_s)
