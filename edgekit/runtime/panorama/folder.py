"""The panorama of a row alone, in a folder: segments, and what is told of them (`report.py`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgekit.atomic import make_folder, storage_error, write_atomic
from edgekit.contracts import Columns, Frame, FrameSource, Progress
from edgekit.errors import RunFinishedError, RunFolderError, SourceError
from edgekit.runtime.mosaic.settings import MosaicSettings
from edgekit.runtime.panorama.report import OFFSETS_NAME, PAGE_NAME, SUMMARY_NAME, Built, PanoramaSummary, RowReport
from edgekit.runtime.panorama.segments import INDEX_NAME, SegmentWriter
from edgekit.runtime.row_view import RowMosaic, RowView
from edgekit.runtime.settings import RunSettings
from edgekit.runtime.sources.hints import hint_for


@dataclass(frozen=True)
class PanoramaJob:
    """What to build, and how to keep it."""

    settings: MosaicSettings
    segment_px: int = 4096
    kind: str = "png"
    """png (exact) or jpg."""
    px_per_metre: float | None = None
    """Scale; None where nobody measured it."""


def build_panorama(
    source: FrameSource, out: Path, job: PanoramaJob, *, progress: Progress, view: RowView | None = None
) -> PanoramaSummary:
    """Build a panorama into a folder. A folder whose build was cut is built again, with the same bytes.

    Args:
        source: the frames of one row.
        out: the folder.
        job: what to build.
        progress: told how far the work is.
        view: camera and encoder, and the settings in place of the job's; closed at the end. None: straight pictures
            alone.

    Raises:
        RunFinishedError: the folder holds a finished panorama.
        RunFolderError: the folder holds other things.
        SourceError: the source cannot be read, or none of its frames can be used.
        StorageError: the disk is full, read-only or failing.
    """
    _check(out)
    view = view or RowView(RunSettings(panorama=job.settings, px_per_metre=job.px_per_metre))
    build = _Build(out, job, view.mosaic())
    try:
        for number, frame in enumerate(source, 1):
            build.take(frame)
            progress("frames", number, source.length)
        return build.finish(source)
    finally:
        view.close()


class _Build:
    """A panorama on its way into a folder."""

    def __init__(self, out: Path, job: PanoramaJob, row: RowMosaic) -> None:
        self._out, self._job, self._row = out, job, row
        self._mosaic, self._report = row.strips, RowReport()
        self._writer = SegmentWriter(out, width_px=job.segment_px, kind=job.kind)

    def take(self, frame: Frame) -> None:
        """One more frame."""
        self._report.see(frame)
        self._keep(self._mosaic.add(frame))

    def finish(self, source: FrameSource) -> PanoramaSummary:
        """No more frames: write what is left."""
        self._keep(self._mosaic.finish())
        if not self._writer.width_px:
            known = f" ({'; '.join(source.faults)})" if source.faults else ""
            hint = "look at its frames: are they cut or black?" if self._report.frames else hint_for(known).mend
            raise SourceError(f"no frame of {source.name} can be used{known}", mend=hint)
        index = self._writer.finish()
        built = Built(
            source=source.name,
            size_wh=(index.width_px, index.height_px),
            segments=len(index.files),
            direction=index.direction,
            origin_px=self._mosaic.origin_px,
            px_per_metre=self._row.px_per_metre or self._job.px_per_metre,
            faults=(*source.faults, *self._row.remarks),
            overlap_residual_grey=self._mosaic.overlap_residual_grey,
        )
        return self._report.write(self._out, built, write_atomic)

    def _keep(self, columns: list[Columns]) -> None:
        for record in self._mosaic.drain_records():
            self._report.note(record)
        for part in columns:
            self._report.take(part)
            self._writer.add(part)


def _check(out: Path) -> None:
    if (out / SUMMARY_NAME).exists():
        raise RunFinishedError(f"{out} holds a finished panorama", mend="name another folder, or remove this one")
    if out.exists() and not out.is_dir():
        raise RunFolderError(f"{out} is not a folder", mend="name a folder that is new or empty")
    make_folder(out)
    known = (INDEX_NAME, OFFSETS_NAME, PAGE_NAME)
    others = [p.name for p in out.iterdir() if not (p.name in known or p.name.startswith(("segment_", ".segment")))]
    if others:
        raise RunFolderError(f"{out} holds other things: {others[0]}", mend="name a folder that is new or empty")
    try:
        for path in out.iterdir():
            path.unlink()
    except OSError as error:
        raise storage_error(out, error) from error
