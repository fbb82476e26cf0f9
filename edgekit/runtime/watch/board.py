"""The board on which every stage of a live run writes what it does; readers take a whole snapshot of it.

One lock, held for a few assignments: a frame's entries, its stages among them, take 10 us, a snapshot 50 us
(python bench/watch/cost.py). All ages come from the monotonic clock.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from edgekit.runtime.watch.health import health_of
from edgekit.runtime.watch.snapshot import (
    CameraState,
    CameraStatus,
    DeviceStatus,
    Gap,
    Level,
    ModelStatus,
    Problem,
    RowStatus,
    Snapshot,
    StageStatus,
)

BUCKETS_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Upper ends of the histogram of stage times: from a motion step on a GPU to a batch on two slow cores."""
RATE_OVER_S = 10.0
"""Window of a camera's frame rate: long enough for 15 Hz to be told to a tenth."""


@dataclass
class _Camera:
    side: str
    state: CameraState = "idle"
    frames: int = 0
    placed: int = 0
    dropped: int = 0
    faults: int = 0
    last_fault: str | None = None
    frame_s: float | None = None
    placed_s: float | None = None
    recent_s: deque[float] = field(default_factory=lambda: deque(maxlen=4096))


@dataclass
class _Row:
    row: str | None = None
    opened_s: float | None = None
    frames: int = 0
    tiles: int = 0
    fruit: int | None = None
    length_m: float | None = None


@dataclass
class _Stage:
    count: int = 0
    total_s: float = 0.0
    last_s: float = 0.0
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS_S) + 1))


class StatusBoard:
    """Counters and gauges of a live run, safe to write and read from any thread.

    Args:
        site: what the run is called until a run folder has begun.
        cameras: name and side of every camera.
        clock: monotonic seconds; for tests.
    """

    def __init__(
        self, site: str, cameras: Iterable[tuple[str, str]], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._site, self._clock, self._started_s = site, clock, clock()
        self._run: str | None = None
        self._starting: str | None = None
        self._lock = threading.Lock()
        self._cameras = {name: _Camera(side) for name, side in cameras}
        self._rows = {camera.side: _Row() for camera in self._cameras.values()}
        self._stages: dict[str, _Stage] = {}
        self._problems: dict[str, Problem] = {}
        self._tiles = self._fruit_done = self._rows_done = self._backlog = 0
        self._oldest_s: float | None = None
        self._tile_s: float | None = None
        self._device = DeviceStatus()
        self._model: ModelStatus | None = None
        self._gap: Gap | None = None
        self._stopping = False

    @property
    def run(self) -> str | None:
        """Name of the run folder; None before the first."""
        return self._run

    def counting_into(self, run: str) -> None:
        """Another run folder begins, or is taken up."""
        with self._lock:
            self._run = run

    def starting(self, what: str | None) -> None:
        """What is waited for before anything can be counted; None: nothing any more."""
        with self._lock:
            self._starting = what

    # Cameras

    def frame(self, camera: str, *, dropped: int = 0) -> None:
        """A frame came from the camera, after `dropped` that nobody fetched; the camera is well again."""
        with self._lock:
            entry, now_s = self._cameras[camera], self._clock()
            entry.frames += 1
            entry.dropped += dropped
            entry.frame_s = now_s
            entry.state = "ok"
            entry.recent_s.append(now_s)

    def placed(self, camera: str, count: int = 1) -> None:
        """Frames are through the panorama stage, or were read between rows and put to no use."""
        with self._lock:
            entry = self._cameras[camera]
            entry.placed += count
            entry.placed_s = self._clock()
            if self._rows[entry.side].row is not None:
                self._rows[entry.side].frames += count

    def camera_fault(self, camera: str, reason: str, *, state: CameraState = "lost") -> None:
        """An outage began, or goes on after another attempt."""
        with self._lock:
            entry = self._cameras[camera]
            entry.faults += 1
            entry.last_fault = reason
            entry.state = state

    def camera_starting(self, camera: str) -> None:
        """It is being read from now on; its first frame makes it `ok`."""
        with self._lock:
            self._cameras[camera].state = "starting"

    def camera_idle(self, camera: str) -> None:
        """It is not read from now on, on purpose: one run has ended and the next has not begun."""
        with self._lock:
            self._cameras[camera].state = "idle"

    # Rows

    def row_opened(self, side: str, row: str) -> None:
        """A row begins on this side."""
        with self._lock:
            self._rows[side] = _Row(row, self._clock())

    def row_closed(self, side: str, *, fruit: int | None = None) -> None:
        """The open row of this side ends.

        Args:
            side: the side.
            fruit: its final count; None: the last one told by `row_counts`. A row whose tiles are finished later calls
                `fruit_counted` instead.
        """
        with self._lock:
            entry = self._rows[side]
            self._rows[side] = _Row()
            self._rows_done += 1
            self._fruit_done += (entry.fruit or 0) if fruit is None else fruit

    def row_counts(
        self, side: str, *, fruit: int | None = None, tiles: int | None = None, length_m: float | None = None
    ) -> None:
        """How far the open row of this side is; None: as before."""
        with self._lock:
            entry = self._rows[side]
            entry.fruit = entry.fruit if fruit is None else fruit
            entry.tiles = entry.tiles if tiles is None else tiles
            entry.length_m = entry.length_m if length_m is None else length_m

    def fruit_counted(self, more: int) -> None:
        """Fruit of closed rows that were found when their waiting tiles were worked off (negative: merged away)."""
        with self._lock:
            self._fruit_done += more

    # Tiles and stages

    def tiles_done(self, count: int = 1, *, side: str | None = None) -> None:
        """Tiles are segmented and durable; `side` where they belong to the row that is open there."""
        with self._lock:
            self._tiles += count
            self._tile_s = self._clock()
            if side is not None:
                self._rows[side].tiles += count

    def backlog(self, tiles: int, *, oldest_age_s: float = 0.0) -> None:
        """How many tiles wait, and for how long the oldest has waited."""
        with self._lock:
            self._backlog = tiles
            self._oldest_s = self._clock() - oldest_age_s if tiles else None

    def stage(self, name: str, seconds: float) -> None:
        """One pass of a stage took this long."""
        with self._lock:
            entry = self._stages.setdefault(name, _Stage())
            entry.count += 1
            entry.total_s += seconds
            entry.last_s = seconds
            entry.buckets[bisect_left(BUCKETS_S, seconds)] += 1

    # The run as a whole

    def device(self, status: DeviceStatus) -> None:
        """The device's readings."""
        with self._lock:
            self._device = status

    def model(self, status: ModelStatus) -> None:
        """The model, its backend and its season, or a new verdict on the season."""
        with self._lock:
            self._model = status

    def drift(self, verdict: str, *, drifted: bool, rank_shift: float | None) -> None:
        """What the test says of the confidences so far; a drift is a problem until the profile is another."""
        with self._lock:
            if self._model is not None:
                self._model = replace(self._model, drift=verdict, drifted=drifted, rank_shift=rank_shift)
            if drifted:
                self._problems["drift"] = Problem("degraded", verdict)

    def gap(self, gap: Gap) -> None:
        """What the last start found of the time before it."""
        with self._lock:
            self._gap = gap

    def problem(self, key: str, text: str, *, level: Level = "degraded") -> None:
        """Something is wrong from now on, until `solved` with the same key."""
        with self._lock:
            self._problems[key] = Problem(level, text)

    def solved(self, key: str) -> None:
        """It is well again; an unknown key does no harm."""
        with self._lock:
            self._problems.pop(key, None)

    def stopping(self) -> None:
        """The run works off what it has in hand and ends."""
        with self._lock:
            self._stopping = True

    # Reading

    def snapshot(self) -> Snapshot:
        """Everything at this moment."""
        with self._lock:
            now_s = self._clock()
            cameras = tuple(_camera(name, entry, now_s) for name, entry in self._cameras.items())
            lag_s = 0.0 if self._oldest_s is None else now_s - self._oldest_s
            health, problems = health_of(cameras, self._problems.values(), self._device)
            return Snapshot(
                run=self._run or self._site, uptime_s=now_s - self._started_s, stopping=self._stopping,
                health=health, problems=problems, cameras=cameras,
                rows=tuple(_row(side, entry, now_s) for side, entry in self._rows.items()),
                stages=tuple(_stage(name, entry) for name, entry in self._stages.items()),
                tiles=self._tiles, fruit=self._fruit_done + sum(entry.fruit or 0 for entry in self._rows.values()),
                rows_done=self._rows_done, backlog_tiles=self._backlog, lag_s=lag_s,
                tile_age_s=_age(self._tile_s, now_s), device=self._device, model=self._model, gap=self._gap,
                starting=self._starting,
            )  # fmt: skip


def _age(moment_s: float | None, now_s: float) -> float | None:
    return None if moment_s is None else now_s - moment_s


def _camera(name: str, entry: _Camera, now_s: float) -> CameraStatus:
    while entry.recent_s and now_s - entry.recent_s[0] > RATE_OVER_S:
        entry.recent_s.popleft()
    recent = entry.recent_s
    rate_hz = (len(recent) - 1) / (recent[-1] - recent[0]) if len(recent) > 1 and recent[-1] > recent[0] else None
    return CameraStatus(
        name, entry.side, entry.state, entry.frames, entry.placed, entry.dropped, entry.faults, entry.last_fault,
        _age(entry.frame_s, now_s), _age(entry.placed_s, now_s), rate_hz,
    )  # fmt: skip


def _row(side: str, entry: _Row, now_s: float) -> RowStatus:
    open_s = _age(entry.opened_s, now_s)
    return RowStatus(side, entry.row, open_s, entry.frames, entry.tiles, entry.fruit, entry.length_m)


def _stage(name: str, entry: _Stage) -> StageStatus:
    cumulative, total = [], 0
    for count in entry.buckets[:-1]:
        total += count
        cumulative.append(total)
    return StageStatus(name, entry.count, entry.total_s, entry.last_s, tuple(cumulative))
