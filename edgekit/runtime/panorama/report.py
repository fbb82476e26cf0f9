"""What is told of a row's panorama beside its pictures: offsets.csv, panorama.json, quality.html."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from edgekit.contracts import Columns, Frame
from edgekit.runtime.panorama.quality import Quality, QualityWatch
from edgekit.runtime.panorama.quality_page import quality_page
from edgekit.runtime.panorama.thumbnail import Thumbnail
from edgekit.runtime.records import FrameRecord

SUMMARY_NAME = "panorama.json"
OFFSETS_NAME = "offsets.csv"
PAGE_NAME = "quality.html"
_FIELDS = ("frame", "time_s", "x_px", "y_px", "confidence", "status", "reason")
Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Built:
    """What is known once the last column is there."""

    source: str
    size_wh: tuple[int, int]
    segments: int
    direction: int
    """+1: the panorama grew to the right."""
    origin_px: int
    """See `StripMosaic.origin_px`."""
    px_per_metre: float | None
    faults: tuple[str, ...]
    """Of the source."""
    overlap_residual_grey: float | None = None
    """See `StripMosaic.overlap_residual_grey`."""


@dataclass(frozen=True)
class PanoramaSummary:
    """What `panorama.json` says."""

    source: str
    frames: int
    width_px: int
    height_px: int
    segments: int
    direction: int
    """+1: the camera travelled to the right."""
    bridged_px: int
    """Columns that were placed by prediction."""
    bridged: Spans
    """Where they are: first column and the one after the last of each stretch."""
    px_per_metre: float | None
    length_m: float | None
    """Of the row, without what was bridged; None without a scale."""
    speed_m_s: float | None
    """Median speed of the trolley; None without a scale, or where nothing moved."""
    overlap_residual_grey: float | None
    """Mean difference of neighbouring frames where they meet, grey levels: noise, depth and what was placed wrong."""
    quality: Quality
    warnings: tuple[str, ...]
    """Faults of the source, then what a person can act on."""


class RowReport:
    """Gathers what is told of a row while it is built: four numbers a frame, and little else."""

    def __init__(self) -> None:
        self._watch = QualityWatch()
        self._records: list[FrameRecord] = []
        self._bridged: list[tuple[int, int]] = []
        self._thumbnail = Thumbnail()

    @property
    def frames(self) -> int:
        """Frames whose fate was noted so far."""
        return len(self._records)

    def see(self, frame: Frame) -> None:
        """Look at a frame that is about to be placed."""
        if frame.fault is None:
            self._watch.see(frame.image)

    def note(self, record: FrameRecord) -> None:
        """What became of it."""
        self._watch.note(record)
        self._records.append(record)

    def take(self, columns: Columns) -> None:
        """Columns that were finished, in order."""
        self._thumbnail.take(columns)
        if columns.bridged and columns.image.shape[1]:
            self._bridged.append((columns.x_px, columns.x_px + columns.image.shape[1]))

    def bridged(self, width_px: int, direction: int) -> Spans:
        """Stretches that were bridged, from left to right, in columns of the finished panorama."""
        origin_px = 0 if direction > 0 else -width_px
        joined: list[tuple[int, int]] = []
        for start, stop in sorted((start - origin_px, stop - origin_px) for start, stop in self._bridged):
            if joined and joined[-1][1] == start:
                start = joined.pop()[0]
            joined.append((start, stop))
        return tuple(joined)

    def write(self, folder: Path, built: Built, write: Callable[[Path, bytes], None]) -> PanoramaSummary:
        """Write the three files; panorama.json last.

        Raises:
            StorageError: the disk is full, read-only or failing.
        """
        summary = self._summary(built)
        write(folder / OFFSETS_NAME, offsets_csv(self._records, built.origin_px))
        figures = asdict(summary)
        write(folder / PAGE_NAME, quality_page(figures, self._records, self._thumbnail.jpeg()))
        write(folder / SUMMARY_NAME, (json.dumps(figures, indent=2) + "\n").encode())
        return summary

    def _summary(self, built: Built) -> PanoramaSummary:
        quality, scale = self._watch.result(), built.px_per_metre
        bridged = self.bridged(built.size_wh[0], built.direction)
        bridged_px = sum(stop - start for start, stop in bridged)
        known = scale is not None and quality.speed_px_s is not None
        return PanoramaSummary(
            source=built.source,
            frames=self.frames,
            width_px=built.size_wh[0],
            height_px=built.size_wh[1],
            segments=built.segments,
            direction=built.direction,
            bridged_px=bridged_px,
            bridged=bridged,
            px_per_metre=scale,
            length_m=None if scale is None else (built.size_wh[0] - bridged_px) / scale,
            speed_m_s=(quality.speed_px_s or 0.0) / (scale or 1.0) if known else None,
            overlap_residual_grey=built.overlap_residual_grey,
            quality=quality,
            warnings=(*built.faults, *quality.warnings),
        )


def offsets_csv(records: Iterable[FrameRecord], origin_px: int) -> bytes:
    """One line a frame; x_px counts from the panorama's left edge. An empty cell is a value that is not there."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(_FIELDS)
    for record in records:
        x_px = None if record.x_px is None else record.x_px - origin_px
        numbers = ["" if value is None else f"{value:.3f}" for value in (record.time_s, x_px, record.y_px)]
        confidence = "" if record.confidence is None else f"{record.confidence:.3f}"
        lines.writerow([record.frame, *numbers, confidence, record.status, record.reason or ""])
    return text.getvalue().encode()
