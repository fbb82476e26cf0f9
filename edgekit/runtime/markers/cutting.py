"""Cuts one long recording into rows, by its markers."""

from __future__ import annotations

from dataclasses import dataclass

from edgekit.contracts import FrameSource, Progress
from edgekit.runtime.markers.payload import Side
from edgekit.runtime.markers.row_marks import RowMarks
from edgekit.runtime.markers.settings import MarkerSettings


@dataclass(frozen=True)
class RowStretch:
    """The frames of one row in a recording."""

    row: str
    side: Side | None
    first: int
    """Sequence number of its first frame."""
    stop: int
    """Sequence number after its last frame."""


@dataclass(frozen=True)
class Rows:
    """What the markers of a recording say."""

    stretches: tuple[RowStretch, ...]
    px_per_metre: float | None
    """Scale by markers of known size; None where there were none."""
    remarks: tuple[str, ...]
    """What a person should know: a row that was never closed, frames before the first marker."""


def row_stretches(source: FrameSource, settings: MarkerSettings, *, progress: Progress) -> Rows:
    """Read the whole recording and tell where its rows begin and end.

    Raises:
        SourceError: the source cannot be read.
    """
    marks = RowMarks(settings)
    stretches: list[RowStretch] = []
    remarks: list[str] = []
    begun: RowStretch | None = None
    after = 0
    for frame in source:
        after = frame.sequence + 1
        progress("markers", after, source.length)
        event = marks.look(frame)
        if event is None:
            continue
        if begun is not None:
            stretches.append(_until(begun, event.frame))
            if event.kind == "open":
                remarks.append(f"row {begun.row} had no marker at its end: it ends where row {event.row} begins")
        begun = RowStretch(event.row, event.side, event.frame, event.frame) if event.kind == "open" else None
    if begun is not None:
        stretches.append(_until(begun, after))
        remarks.append(f"row {begun.row} had no marker at its end: it ends with the recording")
    return Rows(tuple(stretches), marks.px_per_metre, tuple(remarks))


def _until(begun: RowStretch, stop: int) -> RowStretch:
    return RowStretch(begun.row, begun.side, begun.first, stop)
