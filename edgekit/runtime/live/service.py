"""`edgekit run --site`: everything around the runs of one trolley, from its start until it is stopped."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from edgekit.contracts import FrameSource, Segmenter
from edgekit.errors import EdgekitError, RunDamagedError, RunFolderError
from edgekit.runtime.control import Order, Reply, RowStart, RowStop, Stop
from edgekit.runtime.job import Job
from edgekit.runtime.live.front import Front
from edgekit.runtime.live.gate import FRAMES_WAITING, Closing, Gate, Opening
from edgekit.runtime.live.lane import Lane
from edgekit.runtime.live.run import LiveRun, Surroundings
from edgekit.runtime.live.runs import day_of, is_of_day, next_folder, unfinished
from edgekit.runtime.live.site import ReadyCamera, Site
from edgekit.runtime.live.trolley_encoder import TrolleyEncoder, open_encoder
from edgekit.runtime.row_view import RowView, view_of_camera
from edgekit.runtime.sources import open_camera
from edgekit.runtime.stage_clock import StageClock
from edgekit.runtime.watch.device_watch import DeviceWatch
from edgekit.runtime.watch.notify import Notifier
from edgekit.runtime.watch.snapshot import ModelStatus
from edgekit.runtime.watch.watchdog import Watchdog, WorkJudge
from edgekit.store import RunFolder

if TYPE_CHECKING:
    from edgekit.runtime.markers.row_marks import RowMarks

FRAMES_HELD = 8
"""Frames that wait in a camera's reader when its thread gets no processor for a moment: half a second at 15 Hz."""
_log = logging.getLogger(__name__)


class Service:
    """Runs of one trolley: device watch and watchdog stay, run folders come and go.

    Args:
        site: the trolley.
        cameras: with their descriptions.
        job: what is to be counted, and how.
        models: copies of one model.
        front: open already; takes what is asked and shows what is done.
        opened: gives the frames of a camera; for tests.
    """

    def __init__(
        self,
        site: Site,
        cameras: Sequence[ReadyCamera],
        job: Job,
        *,
        models: Sequence[Segmenter],
        front: Front,
        opened: Callable[[ReadyCamera], FrameSource] | None = None,
    ) -> None:
        self._site = site
        self._opened = opened or self._open
        self._cameras = cameras
        self._job = job
        self._models = models
        self._front, self._stop, self._board = front, front.stop, front.board
        self._clock = StageClock(self._tell_stage)
        self._encoder: TrolleyEncoder | None = None
        self._lanes: list[Lane] = []
        self._run: LiveRun | None = None
        self._finishing = threading.Event()
        self._left: set[Path] = set()

    def serve(self) -> None:
        """Count until stopped.

        Raises:
            EdgekitError: the folder, the disk or the model cannot be used; what was finished is kept.
        """
        notifier = Notifier()
        self._board.model(self._model())
        with ExitStack() as around:
            self._front.answered_by(self._answer)
            around.enter_context(DeviceWatch(self._board, self._site.out, provider=self._models[0].provider.effective))
            self._encoder = open_encoder(self._site.encoder, self._board)
            if self._encoder is not None:
                around.callback(self._encoder.close)
            watchdog = Watchdog(self._board, notifier, WorkJudge(self._site.watchdog))
            watchdog.start()
            around.callback(watchdog.close)
            notifier.ready()
            self._runs()
            notifier.stopping()

    def _runs(self) -> None:
        """One run folder after the other, until stopped."""
        while not self._ends:
            folder = RunFolder(self._folder())
            with folder.claimed() as aside:
                self._serve_one(folder, aside)

    def _serve_one(self, folder: RunFolder, aside: Sequence[str]) -> None:
        ending = threading.Event()
        lanes = [self._lane(camera, ending) for camera in self._cameras]
        self._board.counting_into(folder.path.name)
        around = Surroundings(self._models, self._board, self._clock, self._site.space, self._encoder)
        try:
            run = LiveRun(self._job, folder, lanes, ending, around)
        except RunFolderError as error:  # damaged, or of another model: a device that nobody watches must go on
            self._leave(folder, error)
            return
        for message in aside:
            _log.warning("%s", message)
        _log.info("counting into %s", folder.path)
        self._lanes, self._run = lanes, run
        waker = threading.Thread(target=self._end_when_due, args=(run, ending), name="edgekit-day", daemon=True)
        waker.start()
        try:
            run.serve(self._goes_on_finishing)
        finally:
            self._lanes = []
            ending.set()
            waker.join()
            for camera in self._cameras:
                self._board.camera_idle(camera.name)
        for row in run.left():
            _log.warning("%s", row)
        if self._finishing.is_set() or self._site.run_per == "start" or not is_of_day(folder.path, self._day()):
            self._finish(run, folder)
        self._run = None

    def _finish(self, run: LiveRun, folder: RunFolder) -> None:
        """Write the results; a run whose panorama is damaged keeps its counts and does not hold up the next one."""
        try:
            if run.finish():
                _log.info("the run %s is finished", folder.path.name)
        except RunDamagedError as error:
            self._leave(folder, error)

    def _leave(self, folder: RunFolder, error: EdgekitError) -> None:
        _log.error("%s; %s is left as it is, and a new run begins", error.what, folder.path.name)
        self._board.problem(f"left {folder.path.name}", f"the run {folder.path.name} was left: {error.what}")
        self._left.add(folder.path)

    def _end_when_due(self, run: LiveRun, ending: threading.Event) -> None:
        """End the run when everything is to end, or when its day is over and nothing is in hand."""
        while not ending.wait(0.1):
            if self._stop.is_set():
                self._board.stopping()
                ending.set()
            elif self._finishing.is_set() or self._is_over(run):
                ending.set()

    def _is_over(self, run: LiveRun) -> bool:
        return self._site.run_per == "day" and not is_of_day(run.path, self._day()) and run.idle

    @property
    def _ends(self) -> bool:
        return self._stop.is_set() or self._finishing.is_set()

    def _goes_on_finishing(self) -> bool:
        """True while waiting tiles are worked off before the end: asked for, and no signal has come since."""
        if self._stop.is_set():
            self._board.stopping()
            return False
        return self._finishing.is_set()

    def _folder(self) -> Path:
        """The run to go on with, or that of a new one; a damaged one is left as it is, and told."""
        try:
            last = unfinished(self._site.out)
        except RunDamagedError as error:
            _log.error("%s; it is left as it is, and a new run begins", error.what)
            last = None
        if last is None or last in self._left:
            return next_folder(self._site.out, self._day())
        return last

    def _day(self) -> str:
        return day_of(datetime.now(), self._site.day_begins_h)

    def _lane(self, camera: ReadyCamera, ending: threading.Event) -> Lane:
        def idle() -> None:
            self._board.placed(camera.name)

        gate = Gate(self._site.rows, ending, markers=self._markers(camera), idle=idle)
        return Lane(
            (camera.name, camera.label), self._opened(camera), gate,
            view=self._view(camera), board=self._board, clock=self._clock,
        )  # fmt: skip

    def _view(self, camera: ReadyCamera) -> RowView:
        odometer = None if self._encoder is None else self._encoder.shared()
        return replace(view_of_camera(camera.description, self._job.settings), odometer=odometer)

    def _markers(self, camera: ReadyCamera) -> RowMarks | None:
        if "marker" not in self._site.rows.opened_by:
            return None
        from edgekit.runtime.markers.row_marks import RowMarks  # brings OpenCV's detectors

        return RowMarks(self._site.markers, side=camera.side)

    def _open(self, camera: ReadyCamera) -> FrameSource:
        return open_camera(camera.description, settings=self._site.patience, held=FRAMES_HELD, waiting=FRAMES_WAITING)

    def _tell_stage(self, name: str, seconds: float) -> None:
        if name != "capture":  # that is waiting for the next frame
            self._board.stage(name, seconds)

    def _model(self) -> ModelStatus:
        choice, job = self._models[0].provider, self._job
        season = None if job.season is None else job.season.name
        return ModelStatus(
            job.model_file, choice.requested, choice.effective, choice.reason, threshold=job.threshold, season=season
        )

    def _answer(self, command: Order) -> Reply:
        """Do what somebody at the local socket asks.

        Raises:
            RunFolderError: there is no such side, or it must be named.
        """
        if isinstance(command, RowStart):
            lanes = self._chosen(command.side, needed=True)
            for lane in lanes:
                lane.gate.order(Opening(command.row, "command"))
            return Reply(True, f"row {command.row} begins on the {' and '.join(lane.label for lane in lanes)}")
        if isinstance(command, RowStop):
            lanes = self._chosen(command.side, needed=False)
            for lane in lanes:
                lane.gate.order(Closing("command"))
            return Reply(True, self._ending([lane.label for lane in lanes]))
        return self._end(command)

    def _end(self, command: Stop) -> Reply:
        """End, at once or when the run is finished; what then waits for the next start is told."""
        run = self._run
        data = {} if run is None else {"run": str(run.path.resolve())}
        if command.finish:
            if self._stop.is_set():
                raise RunFolderError("edgekit is ending already", mend="start it again, then stop it with --finish")
            if run is None:
                raise RunFolderError("no run is open at this moment", mend="try again in some seconds")
            self._finishing.set()
            return Reply(True, "open rows end, what waits is counted and the run finished; then edgekit ends", data)
        left = [] if run is None else run.left()
        self._stop.set()
        return Reply(True, "\n".join(["what is in hand is finished, then edgekit ends", *left]), data)

    def _ending(self, labels: Sequence[str]) -> str:
        """What a row stop does, in words."""
        open_sides = {row.side for row in self._board.snapshot().rows if row.row is not None}
        ending = [label for label in labels if label in open_sides]
        if not ending:
            return f"no row is open on the {' or '.join(labels)}"
        return f"the row ends on the {' and '.join(ending)}"

    def _chosen(self, side: str | None, *, needed: bool) -> list[Lane]:
        sides = {camera.name: camera.side for camera in self._cameras}
        lanes = list(self._lanes)
        if self._ends:
            raise RunFolderError("edgekit is ending", mend="start it again for more rows")
        if not lanes:
            raise RunFolderError("no run is open at this moment", mend="try again in some seconds")
        if side is None:
            if needed and len(set(sides.values())) > 1:
                raise RunFolderError("the row has no side", mend="name it: --side left or --side right")
            return lanes
        chosen = [lane for lane in lanes if side in (lane.label, lane.name, sides[lane.name])]
        if not chosen:
            labels = ", ".join(lane.label for lane in lanes)
            raise RunFolderError(f"no camera looks to the side {side!r}", mend=f"there are {labels}")
        return chosen
