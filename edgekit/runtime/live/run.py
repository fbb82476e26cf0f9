"""One run folder while the trolley rides: the threads, and how they begin and end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgekit.atomic import write_atomic
from edgekit.contracts import Choice, ModelInfo, Segmenter, TileResult
from edgekit.runtime.counting import Counting
from edgekit.runtime.job import Job
from edgekit.runtime.live.backlog import Backlog
from edgekit.runtime.live.book import Book
from edgekit.runtime.live.crew import Crew
from edgekit.runtime.live.lane import Lane
from edgekit.runtime.live.live_row import LiveRow
from edgekit.runtime.live.space import SpaceSettings, SpaceWatch
from edgekit.runtime.live.takeup import Taken, sitting_now, take_up
from edgekit.runtime.live.trolley_encoder import TrolleyEncoder
from edgekit.runtime.live.writer import Writer
from edgekit.runtime.memory import peak_rss_mb
from edgekit.runtime.models import segment_all
from edgekit.runtime.results import write_results
from edgekit.runtime.retention.remove import make_room
from edgekit.runtime.stage_clock import StageClock
from edgekit.runtime.watch.board import StatusBoard
from edgekit.store import RunFolder, RunRecorder
from edgekit.store.coco import to_json
from edgekit.store.summary import Timing, summarise
from edgekit.wording import counted

MODEL_NICE = 1
"""How far the model stands back behind cameras and panorama: hardly. It takes what they leave anyhow, since they need a
tenth of a core each; and its threads hold Python's lock now and then, so the more they stand back, the longer the
others wait for it. With 10, and other work on the machine, frames were lost (bench/live/two_streams.py)."""
GIVE_WAY_FRAMES = 4
"""Frames of one camera that wait for its panorama, from which on the model pauses: tiles can wait on the disk, frames
cannot. A quarter of a second at 15 Hz; two seconds fit."""
LOOK_EVERY_S = 1.0
ALIVE_EVERY_S = 5.0
SPACE_EVERY_S = 5.0
TOLD_EVERY_S = 10.0
"""Between two lines of the log on what still waits, while a run is being finished."""
_POLL_S = 0.1
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Surroundings:
    """What outlives a single run folder."""

    models: Sequence[Segmenter]
    """Copies of one model."""
    board: StatusBoard
    clock: StageClock
    space: SpaceSettings
    encoder: TrolleyEncoder | None = None


class LiveRun:
    """Rows of one run folder, until it is stopped.

    Args:
        job: what is to be counted, and how.
        folder: of the run; claimed by this process.
        lanes: one a camera, not started yet.
        stop: set when the run is to end.
        around: model, board, clock.

    Raises:
        RunFolderError: the folder holds a run of another model or other settings.
        RunDamagedError: its database is damaged.
        StorageError: the disk is full, read-only or failing.
    """

    def __init__(
        self, job: Job, folder: RunFolder, lanes: Sequence[Lane], stop: threading.Event, around: Surroundings
    ) -> None:
        self._job = job
        self._folder = folder
        self._lanes = lanes
        self._stop = stop
        self._around = around
        self._started_s = self._alive_s = self._space_s = time.monotonic()
        self._run_id, self._sitting, taken = self._begin()
        self._writer = Writer(folder.database)
        self._book = Book(
            job, folder, self._run_id, writer=self._writer, board=around.board, clock=around.clock
        )  # fmt: skip
        self._backlog = Backlog(
            job.settings.tiles, around.clock, ended=self._book.count, gives_way=self._frames_wait
        )  # fmt: skip
        self._space = SpaceWatch(
            folder.path,
            around.space,
            make_room=partial(make_room, folder.path.parent),
            give_up=self._book.give_up_pictures,
        )
        self._take(taken)

    def serve(self, finishing: Callable[[], bool] = lambda: False) -> None:
        """Count until stopped. What is in hand is finished, what waits stays on the disk for the next start.

        Args:
            finishing: asked from the stop on; while it is true, what waits is worked off before the end.

        Raises:
            EdgekitError: what made a thread fail.
        """
        cameras, model, writer = Crew(self._stop), Crew(self._stop), Crew(self._stop)
        writer.start("writer", self._writer.run)
        model.start("tiles", self._segment)
        for lane in self._lanes:
            cameras.start(f"capture-{lane.name}", lane.capture)
            cameras.start(f"panorama-{lane.name}", lambda lane=lane: lane.build(self._book, self._backlog))  # type: ignore[misc]
        try:
            self._watch()
        finally:
            self._stop.set()
            for lane in self._lanes:
                lane.close()
            cameras.join()
            if finishing() and not cameras.failed:
                self._work_off(lambda: finishing() and not (model.failed or writer.failed))
            self._backlog.close()
            model.join()
            self._sit(ended=not (cameras.failed or model.failed or writer.failed))
            self._writer.close()
            writer.join()
        for crew in (writer, cameras, model):
            crew.check()

    @property
    def idle(self) -> bool:
        """No row is open and nothing waits."""
        return self._backlog.empty and self._book.all_counted

    @property
    def path(self) -> Path:
        """The run's folder."""
        return self._folder.path

    def left(self) -> list[str]:
        """The rows that are not counted yet, a sentence each."""
        return [_left_words(row, self._backlog.waiting_of(row)) for row in self._book.rows() if not row.counted]

    def finish(self) -> bool:
        """Write the results where every row is counted; False where some wait for the next start.

        To be called after `serve`.
        """
        recorder = RunRecorder(self._folder.database)
        try:
            if any(source.state in ("open", "waiting", "cut") for source in recorder.reader.sources()):
                return False
            write_results(self._folder, recorder.reader)
            clock, seconds = self._around.clock, time.monotonic() - self._started_s
            drift = None if (status := self._book.drift) is None else status.as_json()
            timing = Timing(seconds, clock.spent_ms(), peak_rss_mb())
            summary = summarise(recorder.reader, timing, drift=drift)
            write_atomic(self._folder.summary, to_json(summary))
            recorder.finish(self._run_id)
        finally:
            recorder.close()
        return True

    def _begin(self) -> tuple[int, int, Taken]:
        """Take up the run that lies here, or write down a new one."""
        recorder = RunRecorder(self._folder.database)
        try:
            run_id = recorder.begin(self._job.plan(self._around.models[0]))
            taken = take_up(self._folder, recorder, run_id, self._job.settings.tiles)
            merging = Counting(recorder, run_id, settings=self._job.settings.merge, season=self._job.season)
            for source in recorder.reader.sources():
                if source.state == "cut":
                    merging.merge(source.id)
            return run_id, recorder.sit_down(run_id, sitting_now()), taken
        finally:
            recorder.close()

    def _take(self, taken: Taken) -> None:
        """What an earlier start left waits before everything that comes now."""
        self._book.take([row for row, _ in taken.rows], taken.named)
        for row, index in taken.rows:
            for number, name in enumerate(index.files):
                start_px, stop_px = number * index.segment_px, min((number + 1) * index.segment_px, index.width_px)
                self._backlog.add(row, row.folder / name, (stop_px - start_px, index.height_px))
            self._backlog.end(row)
        if taken.gap is not None:
            self._around.board.gap(taken.gap)
            _log.warning("%s", taken.gap.what)
        if taken.rows:
            _log.info("%d rows of an earlier start wait for the model", len(taken.rows))

    def _segment(self) -> None:
        """Batches of all cameras go through the model, results to the writer."""
        models = [_Timed(model, self._around.clock) for model in self._around.models]
        batches = self._backlog.batches(models[0].info.batch)
        for batch, found in segment_all(batches, models, nice=MODEL_NICE):
            self._book.record(batch, found)
            self._backlog.recorded(batch)

    def _frames_wait(self) -> bool:
        """True while the model is to stand back; at the end no more frames come, and what lies there is of no row."""
        return not self._stop.is_set() and any(lane.gate.waiting > GIVE_WAY_FRAMES for lane in self._lanes)

    def _watch(self) -> None:
        """Look around until stopped: lag, cameras, space, and a sign of life for the next start."""
        while not self._stop.wait(LOOK_EVERY_S):
            self._look()
            for lane in self._lanes:
                lane.look()
            if self._around.encoder is not None:
                self._around.encoder.look()

    def _look(self) -> int:
        """Lag, space and sign of life; returns how many tiles wait."""
        now_s = time.monotonic()
        tiles, oldest_s = self._backlog.waiting()
        self._around.board.backlog(tiles, oldest_age_s=oldest_s)
        if now_s - self._alive_s >= ALIVE_EVERY_S:
            self._sit()
            self._alive_s = now_s
        if now_s - self._space_s >= SPACE_EVERY_S:
            self._look_at_space()
            self._space_s = now_s
        return tiles

    def _work_off(self, wanted: Callable[[], bool]) -> None:
        """The cameras are closed, and with them the rows: let the model finish what waits, as long as it is wanted."""
        for lane in self._lanes:
            self._around.board.camera_idle(lane.name)
        told_s = float("-inf")
        while wanted() and not self.idle:
            tiles = self._look()
            if time.monotonic() - told_s >= TOLD_EVERY_S:
                told_s = time.monotonic()
                _log.info("the run is being finished: %s for the model", counted(tiles, "tile waits", "tiles wait"))
            time.sleep(_POLL_S)
        self._look()

    def _look_at_space(self) -> None:
        if self._space.look(self._book.rows()):
            self._around.board.solved("space")
        else:
            free_mb = self._space.free_bytes() / 1e6
            self._around.board.problem("space", f"{free_mb:.0f} MB are free: pictures are not kept, counting goes on")

    def _sit(self, *, ended: bool = False) -> None:
        now = sitting_now(ended=ended)
        if not self._writer.gone:
            self._writer.do(lambda recorder: recorder.still_sitting(self._sitting, now))


def _left_words(row: LiveRow, tiles: int) -> str:
    what = f"waits for the model (about {counted(tiles, 'tile')})" if tiles else "is not counted yet"
    return f"row {row.name} {row.label} {what}: the next start counts it"


class _Timed:
    """A model whose time is added up, without the time in which it had nothing to do."""

    def __init__(self, model: Segmenter, clock: StageClock) -> None:
        self._model = model
        self._clock = clock

    @property
    def info(self) -> ModelInfo:
        return self._model.info

    @property
    def provider(self) -> Choice:
        return self._model.provider

    def segment(self, tiles: npt.NDArray[np.uint8]) -> list[TileResult]:
        with self._clock.stage("infer"):
            return self._model.segment(tiles)

    def close(self) -> None:
        self._model.close()
