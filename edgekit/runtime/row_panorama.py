"""The panorama of one row while it grows: frames in, finished columns out and onto the disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from edgekit.atomic import write_atomic
from edgekit.contracts import Columns, FrameSource, Progress
from edgekit.errors import SourceError
from edgekit.runtime.movement import Movement
from edgekit.runtime.panorama.report import Built, PanoramaSummary, RowReport
from edgekit.runtime.panorama.segments import SegmentIndex, SegmentWriter
from edgekit.runtime.row_source import panorama_columns
from edgekit.runtime.row_view import RowView
from edgekit.runtime.settings import RunSettings
from edgekit.runtime.sources.hints import hint_for
from edgekit.runtime.stage_clock import StageClock
from edgekit.store import PanoramaShape

if TYPE_CHECKING:
    from edgekit.runtime.mosaic.mosaic import StripMosaic


def _nobody(path: Path) -> None:
    """Nobody wants to know of segments."""


class RowPanorama:
    """The stages of one row up to the disk, each an iterator over what the one before it gives, and what they learnt.

    Args:
        settings: panorama and segments.
        clock: where the time of the stages is added up.
        write: writes a segment's file whole or not at all.
        progress: told of the frames; None: nobody wants to know.
    """

    def __init__(
        self,
        settings: RunSettings,
        clock: StageClock,
        *,
        write: Callable[[Path, bytes], None] = write_atomic,
        progress: Progress | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._write = write
        self._progress = progress
        self.direction = 1
        """+1: grows to the right; -1: to the left. Settled with the first columns."""
        self.height_px = 0
        """0 until there are columns."""
        self._width_px = 0
        self._report = RowReport()
        self._name = ""
        self._origin_px = 0
        self._overlap_residual_grey: float | None = None
        self._fates: Counter[str] = Counter()
        self.movement = Movement()
        self._segments = 0
        self._px_per_metre: float | None = None
        self.faults: tuple[str, ...] = ()
        self.frames: int | None = None
        """Frames so far; None where the panorama was finished already."""
        self.expected_frames: int | None = None
        self.summary: PanoramaSummary | None = None
        """What `panorama.json` says, once it is written."""

    def built(self, source: FrameSource, view: RowView | None = None) -> Iterator[Columns]:
        """Columns from frames.

        Args:
            source: the frames; closed at the end.
            view: the camera's optics and the encoder; closed at the end. None: straight pictures alone.

        Raises:
            SourceError: the source cannot be read, or none of its frames can be used.
        """
        self._name = source.name
        placed = self._placed(source, view or RowView(self._settings))
        return self._measured(self._clock.each("panorama", placed), source.name)

    def read(self, path: Path) -> Iterator[Columns]:
        """Columns of a panorama that is finished already: a picture, or a folder of segments.

        Raises:
            SourceError: it cannot be read.
            RunDamagedError: a segment is missing or damaged.
        """
        return self._measured(self._clock.each("capture", panorama_columns(path)), str(path))

    def kept(
        self, columns: Iterable[Columns], folder: Path, *, told: Callable[[Path], None] = _nobody
    ) -> Iterator[Columns]:
        """Pass the columns on and keep them on disk, as segments of fixed width.

        Columns go on before they are written, so that the model has work while they are encoded. What was built from
        frames gets its report (`panorama/report.py`) beside the segments.

        Args:
            columns: finished columns.
            folder: where the segments go.
            told: called with each segment that is on the disk.
        """
        kind = self._settings.segments
        writer = SegmentWriter(folder, width_px=kind.width_px, kind=kind.kind, write=self._write)
        for part in columns:
            yield part
            with self._clock.stage("segments"):
                for path in writer.add(part):
                    told(path)
        with self._clock.stage("segments"):
            whole = len(writer.files)
            index = writer.finish()
            self._segments = len(index.files)
            for name in writer.files[whole:]:
                told(folder / name)
            if self.frames is not None:
                self.summary = self._report.write(folder, self._whole(index), self._write)

    @property
    def shape(self) -> PanoramaShape:
        """The panorama, once every column has passed."""
        return PanoramaShape(
            self.frames,
            (self._width_px, self.height_px),
            self._segments,
            direction=self.direction,
            px_per_metre=self._px_per_metre,
            bridged=self._bridged,
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a person should know of the row: faults of the source, frames that were left out, bridged stretches, and
        what its quality report warns of."""
        remarks = list(self.faults)
        if self._fates["dropped"]:
            remarks.append(f"{self._fates['dropped']} of {self.frames} frames were not used")
        if self._bridged:
            width_px = sum(stop - start for start, stop in self._bridged)
            remarks.append(
                f"{width_px} px of the panorama are bridged: there the movement was predicted;"
                " fruit per metre leaves them out"
            )
        if self.summary is not None:
            remarks += self.summary.quality.warnings
        return tuple(remarks)

    @property
    def _bridged(self) -> tuple[tuple[int, int], ...]:
        return self._report.bridged(self._width_px, self.direction)

    def _whole(self, index: SegmentIndex) -> Built:
        return Built(
            source=self._name,
            size_wh=(index.width_px, index.height_px),
            segments=len(index.files),
            direction=index.direction,
            origin_px=self._origin_px,
            px_per_metre=self._px_per_metre or self._settings.px_per_metre,
            faults=self.faults,
            overlap_residual_grey=self._overlap_residual_grey,
        )

    def _measured(self, columns: Iterable[Columns], name: str) -> Iterator[Columns]:
        for part in columns:
            self.height_px = part.image.shape[0]
            self._width_px += part.image.shape[1]
            self._report.take(part)
            yield part
        if not self.height_px:
            known = f" ({'; '.join(self.faults)})" if self.faults else ""
            hint = "look at its frames: are they cut or black?" if self.frames else hint_for(known).mend
            raise SourceError(f"no frame of {name} can be used{known}", mend=hint)

    def _placed(self, source: FrameSource, view: RowView) -> Iterator[Columns]:
        row = view.mosaic()
        mosaic = row.strips
        self.expected_frames = source.length
        self.frames = 0
        try:
            for frame in self._clock.each("capture", source):
                self.frames += 1
                self._report.see(frame)
                yield from self._told(mosaic, mosaic.add(frame))
                if self._progress is not None:
                    self._progress("frames", self.frames, source.length)
            yield from self._told(mosaic, mosaic.finish())
        finally:
            self.faults = (*source.faults, *row.remarks)
            self._px_per_metre = row.px_per_metre
            source.close()
            view.close()

    def _told(self, mosaic: StripMosaic, columns: list[Columns]) -> list[Columns]:
        """Note what became of the frames, and the direction, which is known once there are columns."""
        self.direction, self._origin_px = mosaic.direction, mosaic.origin_px
        self._overlap_residual_grey = mosaic.overlap_residual_grey
        for record in mosaic.drain_records():
            self._fates[record.status] += 1
            self._report.note(record)
            self.movement.see(record, mosaic.direction)
        return columns
