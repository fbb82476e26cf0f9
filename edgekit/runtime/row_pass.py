"""One row on its way from frames to batches of tiles; memory does not grow with its length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from edgekit.contracts import Columns, FrameSource, Image, TileSpec
from edgekit.errors import RunFolderError, SourceError
from edgekit.runtime.orientation import mirror, rising
from edgekit.runtime.panorama.segments import SegmentWriter
from edgekit.runtime.row_source import panorama_columns
from edgekit.runtime.settings import RunSettings
from edgekit.runtime.sources import open_source
from edgekit.runtime.stage_clock import StageClock
from edgekit.store import PanoramaShape, StoredSource
from edgekit.tiles import TileCutter

if TYPE_CHECKING:
    from edgekit.runtime.mosaic.mosaic import StripMosaic

Tile = tuple[TileSpec, Image]


class Batch(NamedTuple):
    """Tiles that go through the model together."""

    row: RowPass
    specs: tuple[TileSpec, ...]
    """x counts finished columns (see `orientation`)."""
    tiles: npt.NDArray[np.uint8]
    """uint8, N x S x S x 3, RGB, the right way round."""


class RowPass:
    """The stages before the model, each an iterator over what the one before it gives, and what they learnt.

    Where a run is resumed, frames are read and placed from the beginning as well: both are deterministic and cheap
    beside the model, and only tiles that are not stored yet go on.

    Args:
        source: the row.
        segments: folder of its panorama segments.
        settings: tiles and panorama.
        stored: the tiles that need no model any more.
        clock: where the time of the stages is added up.
    """

    def __init__(
        self, source: StoredSource, segments: Path, settings: RunSettings, stored: Sequence[TileSpec], clock: StageClock
    ) -> None:
        self.source = source
        self._settings = settings
        self._stored = stored
        self._clock = clock
        self._writer = SegmentWriter(segments, width_px=settings.segments.width_px, kind=settings.segments.kind)
        self._direction = 1
        self._height_px = 0
        self._bridged_px = 0
        self._fates: Counter[str] = Counter()
        self._segments = 0
        self.faults: tuple[str, ...] = ()
        self.failure: SourceError | None = None
        """Why the row cannot be read; set by who runs the stages."""
        self.frames: int | None = None if source.kind == "panorama" else 0
        self.expected_frames: int | None = None

    def columns(self) -> Iterator[Columns]:
        """Finished columns of the panorama: built from frames, or read where the panorama is finished already.

        Raises:
            SourceError: the source cannot be read, or none of its frames can be used.
        """
        path = Path(self.source.path)
        if self.source.kind == "panorama":
            columns = self._clock.each("capture", panorama_columns(path))
        else:
            columns = self._clock.each("panorama", self._built(open_source(path)))
        for part in columns:
            self._height_px = part.image.shape[0]
            self._bridged_px += part.image.shape[1] if part.bridged else 0
            yield part
        if not self._height_px:
            raise SourceError(f"no frame of {path} can be used", mend="look at its frames: are they cut or black?")

    def kept(self, columns: Iterable[Columns]) -> Iterator[Columns]:
        """Pass the columns on and keep them on disk, as segments of fixed width.

        Columns go on before they are written, so that the model has work while they are encoded.
        """
        for part in columns:
            yield part
            with self._clock.stage("segments"):
                self._writer.add(part)
        with self._clock.stage("segments"):
            self._segments = len(self._writer.finish().files)

    def tiles(self, columns: Iterable[Columns]) -> Iterator[Tile]:
        """Cut the columns into tiles, in the order in which they were finished."""
        cutter: TileCutter | None = None
        for part in columns:
            cutter = cutter or TileCutter(part.image.shape[0], self._settings.tiles)
            with self._clock.stage("tile"):
                cut = cutter.add(rising(part, self._direction))
            yield from self._upright(cut)
        if cutter is not None:
            yield from self._upright(cutter.finish())

    def batches(self, tiles: Iterable[Tile], size: int) -> Iterator[Batch]:
        """Gather `size` tiles at a time, without those that are stored; the last batch may be smaller.

        Raises:
            RunFolderError: a stored tile lies elsewhere than the tile of the same number.
        """
        waiting: list[Tile] = []
        for spec, image in tiles:
            if spec.number < len(self._stored):
                self._check_place(spec, self._stored[spec.number])
                continue
            waiting.append((spec, image))
            if len(waiting) == size:
                yield self._batch(waiting)
                waiting = []
        if waiting:
            yield self._batch(waiting)

    @property
    def shape(self) -> PanoramaShape:
        """The panorama, once every column has passed."""
        return PanoramaShape(
            self.frames, (self._writer.width_px, self._height_px), self._segments, direction=self._direction
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a person should know of the row: faults of the source, frames that were left out, bridged stretches."""
        remarks = list(self.faults)
        if self._fates["dropped"]:
            remarks.append(f"{self._fates['dropped']} of {self.frames} frames were not used")
        if self._bridged_px:
            remarks.append(f"{self._bridged_px} px of the panorama are bridged: there the movement was predicted")
        return tuple(remarks)

    def _built(self, source: FrameSource) -> Iterator[Columns]:
        from edgekit.runtime.mosaic.mosaic import (
            StripMosaic,  # brings SciPy along, which a finished panorama does not need
        )

        mosaic = StripMosaic(self._settings.panorama)
        self.expected_frames = source.length
        self.frames = 0
        try:
            for frame in self._clock.each("capture", source):
                self.frames += 1
                yield from self._told(mosaic, mosaic.add(frame))
            yield from self._told(mosaic, mosaic.finish())
        finally:
            self.faults = source.faults
            source.close()

    def _told(self, mosaic: StripMosaic, columns: list[Columns]) -> list[Columns]:
        """Note what became of the frames, and the direction, which is known once there are columns."""
        self._direction = mosaic.direction
        self._fates.update(record.status for record in mosaic.drain_records())
        return columns

    def _upright(self, tiles: Iterable[Tile]) -> Iterator[Tile]:
        for spec, image in tiles:
            yield (spec, image if self._direction > 0 else mirror(image))

    def _check_place(self, spec: TileSpec, stored: TileSpec) -> None:
        if spec != stored:
            here, there = f"({spec.x_px}, {spec.y_px})", f"({stored.x_px}, {stored.y_px})"
            what = f"tile {spec.number} of {self.source.path} lies at {here}, in the stored run at {there}"
            raise RunFolderError(what, mend="the source gives other frames than before: choose another --out")

    def _batch(self, tiles: list[Tile]) -> Batch:
        specs, images = tuple(spec for spec, _ in tiles), [image for _, image in tiles]
        return Batch(self, specs, images[0][np.newaxis] if len(images) == 1 else np.stack(images))
