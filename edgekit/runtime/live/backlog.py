"""What waits for the model: segments on the disk, the oldest first, whichever camera they came from.

The disk is the queue. A segment that was written is noted here; its pixels are read again when the model has time, a
moment later or between rows. So memory does not grow with the lag, and nothing is lost when the power goes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from edgekit.contracts import Columns, Image, TileSpec
from edgekit.errors import RunDamagedError
from edgekit.runtime.live.live_row import LiveRow
from edgekit.runtime.panorama.segments import decode_segment
from edgekit.runtime.row_pass import stacked
from edgekit.runtime.stage_clock import StageClock
from edgekit.tiles import TileSettings, plan_tiles

LINGER_S = 1.0
"""How long a batch that is not full waits for tiles of the other cameras."""
_POLL_S = 0.1
_log = logging.getLogger(__name__)


class Place(NamedTuple):
    """Whose tile it is."""

    row: LiveRow
    spec: TileSpec
    """x counts finished columns (see `orientation`)."""
    seen_s: float
    """Monotonic time at which its columns reached the disk."""


class LiveBatch(NamedTuple):
    """Tiles that go through the model together, of any rows."""

    places: tuple[Place, ...]
    tiles: npt.NDArray[np.uint8]
    """uint8, N x S x S x 3, RGB, the right way round."""


@dataclass(frozen=True)
class _Segment:
    """A segment that waits; without a path, the end of its row."""

    row: LiveRow
    path: Path | None
    size_wh: tuple[int, int]
    seen_s: float


class Backlog:
    """Notes segments and row ends, and gives the tiles that are cut from them, in batches.

    `add` and `end` are for the cameras' threads, `batches` and `recorded` for the model's.

    Args:
        settings: how tiles are cut.
        clock: where the time of cutting is added up.
        ended: called, in the model's thread, with each row that has all its results.
        gives_way: True while frames wait for the panoramas: then the model pauses.
    """

    def __init__(
        self,
        settings: TileSettings,
        clock: StageClock,
        *,
        ended: Callable[[LiveRow], None],
        gives_way: Callable[[], bool],
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._ended = ended
        self._gives_way = gives_way
        self._changed = threading.Condition()
        self._segments: deque[_Segment] = deque()
        self._waiting_px: int = 0
        self._height_px = 0
        self._tiles: deque[tuple[Place, Image]] = deque()
        self._on_the_way: deque[Place] = deque()
        self._closed = False

    def add(self, row: LiveRow, path: Path, size_wh: tuple[int, int]) -> None:
        """A segment of a row is on the disk (or was, and its tiles are stored)."""
        self._note(_Segment(row, path, size_wh, time.monotonic()))

    def end(self, row: LiveRow) -> None:
        """A row has no more segments; its shape is set."""
        self._note(_Segment(row, None, (0, 0), time.monotonic()))

    def close(self) -> None:
        """Give no more batches: the tiles in hand are the last, the others wait on the disk for the next start."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def waiting(self) -> tuple[int, float]:
        """Tiles without a result, and the age of the oldest in seconds."""
        with self._changed:
            cut = [*self._on_the_way, *(place for place, _ in self._tiles)]
            oldest_s = [place.seen_s for place in cut[:1]] + [item.seen_s for item in list(self._segments)[:1]]
            rows = len(plan_tiles((self._settings.size_px, self._height_px), self._settings))
            tiles = len(cut) + -(-self._waiting_px // self._settings.stride_px) * rows
        return tiles, time.monotonic() - min(oldest_s) if oldest_s else 0.0

    def waiting_of(self, row: LiveRow) -> int:
        """About how many tiles of one row have no result yet; of an open row, those whose columns are on the disk."""
        with self._changed:
            cut = sum(place.row is row for place in (*self._on_the_way, *(place for place, _ in self._tiles)))
            waiting_px = sum(segment.size_wh[0] for segment in self._segments if segment.row is row)
            rows = len(plan_tiles((self._settings.size_px, self._height_px), self._settings))
        return cut + -(-waiting_px // self._settings.stride_px) * rows

    @property
    def empty(self) -> bool:
        """Nothing waits and nothing is on the way."""
        with self._changed:
            return not (self._segments or self._tiles or self._on_the_way)

    def batches(self, size: int) -> Iterator[LiveBatch | None]:
        """Batches of at most `size` tiles until `close`; None where there is nothing to do just now."""
        while not self._closed:
            if self._gives_way():
                yield None
                time.sleep(_POLL_S / 2)
                continue
            while len(self._tiles) < size and not self._closed and (segment := self._next()) is not None:
                self._cut(segment)
            if self._tiles and (len(self._tiles) >= size or self._has_waited()):
                yield self._batch(size)
            else:
                yield None
                with self._changed:
                    self._changed.wait_for(lambda: self._segments or self._closed, _POLL_S)

    def recorded(self, batch: LiveBatch) -> None:
        """The results of a batch went to the writer."""
        with self._changed:
            for _ in batch.places:
                self._on_the_way.popleft()
        for place in batch.places:
            place.row.recorded += 1
            self._tell_end(place.row)

    def _note(self, segment: _Segment) -> None:
        with self._changed:
            self._segments.append(segment)
            self._waiting_px += segment.size_wh[0]
            self._height_px = segment.size_wh[1] or self._height_px
            self._changed.notify_all()

    def _next(self) -> _Segment | None:
        with self._changed:
            return self._segments[0] if self._segments else None

    def _cut(self, segment: _Segment) -> None:
        """Cut the oldest segment; it waits no longer when its tiles do."""
        with self._clock.stage("tile"):
            tiles = self._end_of(segment.row) if segment.path is None else self._tiles_of(segment, segment.path)
        places = [(Place(segment.row, spec, segment.seen_s), image) for spec, image in tiles]
        with self._changed:
            self._segments.popleft()
            self._waiting_px -= segment.size_wh[0]
            self._tiles.extend(places)
        self._tell_end(segment.row)

    def _tiles_of(self, segment: _Segment, path: Path) -> list[tuple[TileSpec, Image]]:
        row, image = segment.row, _picture(path, segment.size_wh)
        start_px, stop_px = row.cut_px, row.cut_px + image.shape[1]
        row.cut_px = stop_px
        row.spans.append((path, stop_px))
        return row.tiles.add(Columns(image, start_px if row.direction > 0 else -stop_px), row.direction)

    def _end_of(self, row: LiveRow) -> list[tuple[TileSpec, Image]]:
        tiles = row.tiles.finish()
        row.total = row.tiles.number
        return tiles

    def _tell_end(self, row: LiveRow) -> None:
        if row.complete and not row.told:
            row.told = True
            self._ended(row)

    def _has_waited(self) -> bool:
        return time.monotonic() - self._tiles[0][0].seen_s >= LINGER_S

    def _batch(self, size: int) -> LiveBatch:
        with self._changed:
            some = [self._tiles.popleft() for _ in range(min(size, len(self._tiles)))]
            places = tuple(place for place, _ in some)
            self._on_the_way.extend(places)
        return LiveBatch(places, stacked([image for _, image in some]))


def _picture(path: Path, size_wh: tuple[int, int]) -> Image:
    """A segment's pixels; black where it is gone or damaged, which is told: the rest of the row still counts."""
    width, height = size_wh
    try:
        image = decode_segment(path)
    except RunDamagedError as error:
        if path.exists():  # one that is gone was given up for want of space, after its tiles were stored
            _log.error("%s: nothing is counted in this stretch", error.what)
        return np.zeros((height, width, 3), np.uint8)
    if image.shape[:2] != (height, width):
        _log.error("%s is %d x %d, not %d x %d: nothing is counted there", path, *image.shape[1::-1], width, height)
        return np.zeros((height, width, 3), np.uint8)
    return image
