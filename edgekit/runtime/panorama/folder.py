"""The panorama of a row alone, in a folder: segments, offsets.csv, panorama.json."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from edgekit.atomic import write_atomic
from edgekit.contracts import Columns, Frame, FrameSource, Progress
from edgekit.errors import RunFinishedError, RunFolderError, SourceError
from edgekit.runtime.mosaic.mosaic import StripMosaic
from edgekit.runtime.mosaic.settings import MosaicSettings
from edgekit.runtime.panorama.quality import Quality, QualityWatch
from edgekit.runtime.panorama.segments import INDEX_NAME, SegmentIndex, SegmentWriter
from edgekit.runtime.records import FrameRecord

SUMMARY_NAME = "panorama.json"
OFFSETS_NAME = "offsets.csv"
_FIELDS = ("frame", "time_s", "x_px", "y_px", "confidence", "status", "reason")


@dataclass(frozen=True)
class PanoramaJob:
    """What to build, and how to keep it."""

    settings: MosaicSettings
    segment_px: int = 4096
    kind: str = "png"
    """png (exact) or jpg."""
    px_per_metre: float | None = None
    """Scale; None where nobody measured it."""


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
    px_per_metre: float | None
    length_m: float | None
    """Of the row, without what was bridged; None without a scale."""
    quality: Quality
    warnings: tuple[str, ...]
    """Faults of the source, then what a person can act on."""


def build_panorama(source: FrameSource, out: Path, job: PanoramaJob, *, progress: Progress) -> PanoramaSummary:
    """Build a panorama into a folder. A folder whose build was cut is built again, with the same bytes.

    Raises:
        RunFinishedError: the folder holds a finished panorama.
        RunFolderError: the folder holds other things.
        SourceError: the source cannot be read, or none of its frames can be used.
        StorageError: the disk is full, read-only or failing.
    """
    _check(out)
    build = _Build(out, job)
    for number, frame in enumerate(source, 1):
        build.take(frame)
        progress("frames", number, source.length)
    return build.finish(source)


class _Build:
    """A panorama on its way into a folder."""

    def __init__(self, out: Path, job: PanoramaJob) -> None:
        self._out, self._job = out, job
        self._mosaic, self._watch = StripMosaic(job.settings), QualityWatch()
        self._writer = SegmentWriter(out, width_px=job.segment_px, kind=job.kind)
        self._records: list[FrameRecord] = []
        self._bridged_px = 0

    def take(self, frame: Frame) -> None:
        """One more frame."""
        columns = self._mosaic.add(frame)
        self._watch.see(frame.image)
        for record in self._mosaic.drain_records():
            self._watch.note(record)
            self._records.append(record)
        self._keep(columns)

    def finish(self, source: FrameSource) -> PanoramaSummary:
        """No more frames: write what is left."""
        self._keep(self._mosaic.finish())
        if not self._writer.width_px:
            hint = "look at its frames: are they cut or black?"
            raise SourceError(f"no frame of {source.name} can be used", mend=hint)
        index = self._writer.finish()
        write_atomic(self._out / OFFSETS_NAME, offsets_csv(self._records, self._mosaic.origin_px))
        summary = self._summary(source, index)
        write_atomic(self._out / SUMMARY_NAME, (json.dumps(asdict(summary), indent=2) + "\n").encode())
        return summary

    def _keep(self, columns: list[Columns]) -> None:
        for part in columns:
            self._writer.add(part)
            self._bridged_px += part.image.shape[1] if part.bridged else 0

    def _summary(self, source: FrameSource, index: SegmentIndex) -> PanoramaSummary:
        quality, scale = self._watch.result(), self._job.px_per_metre
        return PanoramaSummary(
            source=source.name,
            frames=len(self._records),
            width_px=index.width_px,
            height_px=index.height_px,
            segments=len(index.files),
            direction=index.direction,
            bridged_px=self._bridged_px,
            px_per_metre=scale,
            length_m=None if scale is None else (index.width_px - self._bridged_px) / scale,
            quality=quality,
            warnings=(*source.faults, *quality.warnings),
        )


def offsets_csv(records: list[FrameRecord], origin_px: int) -> bytes:
    """One line a frame; x_px counts from the panorama's left edge. An empty cell is a value that is not there."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(_FIELDS)
    for record in records:
        x_px = None if record.x_px is None else record.x_px - origin_px
        numbers = [_cell(value, 3) for value in (record.time_s, x_px, record.y_px, record.confidence)]
        lines.writerow([record.frame, *numbers, record.status, record.reason or ""])
    return text.getvalue().encode()


def _cell(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _check(out: Path) -> None:
    if (out / SUMMARY_NAME).exists():
        raise RunFinishedError(f"{out} holds a finished panorama", mend="name another folder, or remove this one")
    if not out.exists():
        return
    if not out.is_dir():
        raise RunFolderError(f"{out} is not a folder", mend="name a folder that is new or empty")
    known = (INDEX_NAME, OFFSETS_NAME)
    others = [p.name for p in out.iterdir() if not (p.name in known or p.name.startswith(("segment_", ".segment")))]
    if others:
        raise RunFolderError(f"{out} holds other things: {others[0]}", mend="name a folder that is new or empty")
    for path in out.iterdir():
        path.unlink()
