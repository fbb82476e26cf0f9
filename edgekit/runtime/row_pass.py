"""One row on its way from frames to batches of tiles; memory does not grow with its length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from edgekit.contracts import Columns, TileSpec
from edgekit.errors import SourceError
from edgekit.runtime.row_panorama import RowPanorama
from edgekit.runtime.row_tiles import RowTiles, Tile
from edgekit.runtime.row_view import open_row, open_view
from edgekit.runtime.settings import RunSettings
from edgekit.runtime.stage_clock import StageClock
from edgekit.store import PanoramaShape, StoredSource


class Batch(NamedTuple):
    """Tiles of one row that go through the model together."""

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
        self._segments = segments
        self._settings = settings
        self._clock = clock
        self._panorama = RowPanorama(settings, clock)
        self._tiles = RowTiles(settings.tiles, stored, source.path)
        self.failure: SourceError | None = None
        """Why the row cannot be read; set by who runs the stages."""

    def columns(self) -> Iterator[Columns]:
        """Finished columns of the panorama: built from frames, or read where the panorama is finished already.

        Raises:
            SourceError: the source cannot be read, or none of its frames can be used.
        """
        path = Path(self.source.path)
        if self.source.kind == "panorama":
            return self._panorama.read(path)
        return self._panorama.built(open_row(path, self._settings), open_view(path, self._settings))

    def kept(self, columns: Iterable[Columns]) -> Iterator[Columns]:
        """Pass the columns on and keep them on disk, as segments of fixed width."""
        return self._panorama.kept(columns, self._segments)

    def tiles(self, columns: Iterable[Columns]) -> Iterator[Tile]:
        """Cut the columns into tiles, in the order in which they were finished, without those that are stored.

        Raises:
            RunFolderError: a stored tile lies elsewhere than the tile of the same number.
        """
        for part in columns:
            with self._clock.stage("tile"):
                cut = self._tiles.add(part, self._panorama.direction)
            yield from cut
        yield from self._tiles.finish()

    def batches(self, tiles: Iterable[Tile], size: int) -> Iterator[Batch]:
        """Gather `size` tiles at a time; the last batch may be smaller."""
        waiting: list[Tile] = []
        for tile in tiles:
            waiting.append(tile)
            if len(waiting) == size:
                yield self._batch(waiting)
                waiting = []
        if waiting:
            yield self._batch(waiting)

    @property
    def frames(self) -> int | None:
        """Frames that were read so far; None where the source is a finished panorama."""
        return self._panorama.frames

    @property
    def expected_frames(self) -> int | None:
        """Frames that the source announces; None where it cannot tell."""
        return self._panorama.expected_frames

    @property
    def shape(self) -> PanoramaShape:
        """The panorama, once every column has passed."""
        return self._panorama.shape

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a person should know of the row: faults of the source, frames that were left out, bridged stretches."""
        return self._panorama.remarks

    def _batch(self, tiles: list[Tile]) -> Batch:
        return Batch(self, tuple(spec for spec, _ in tiles), stacked([image for _, image in tiles]))


def stacked(images: Sequence[npt.NDArray[np.uint8]]) -> npt.NDArray[np.uint8]:
    """N tiles as one array; one alone is not copied."""
    return images[0][np.newaxis] if len(images) == 1 else np.stack(images)
