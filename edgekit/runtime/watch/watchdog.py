"""The watchdog is fed by work done, not by the process being alive.

A run is alive as long as all of this holds:

- A side whose row is open and whose camera gives frames places some within `patience_s`.
- While tiles wait, some are finished within `patience_s`.
- A camera that is called well gives a frame within `patience_s` (its reading thread tells otherwise: `lost`, `frozen`).
- Some camera gave a frame within `no_frames_s`: where none does, a new start is the last thing left to try.

So a run is alive between rows: there nothing has to be placed, and without a backlog nothing to be segmented; frames
must still come, for the marker of the next row. A camera that is known to be lost does not count as a stall either: the
other side goes on. While the run ends, systemd's `TimeoutStopSec=` takes the watchdog's place.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from edgekit.runtime.watch.board import StatusBoard
from edgekit.runtime.watch.notify import Notifier
from edgekit.runtime.watch.settings import WatchdogSettings
from edgekit.runtime.watch.snapshot import CameraStatus, RowStatus, Snapshot
from edgekit.runtime.watch.words import one_line

STATUS_EVERY_S = 5.0
"""Seconds between two status lines for systemd, and the longest between two looks at the board."""
_PROBLEM = "stalled"
_log = logging.getLogger(__name__)


@dataclass
class _Mark:
    """A counter when it last moved."""

    value: int
    moved_s: float
    frames: int = 0
    """Frames that had come by then."""


class WorkJudge:
    """Says whether work goes on, from one snapshot to the next.

    Args:
        settings: patience.
        clock: monotonic seconds; for tests.
    """

    def __init__(
        self, settings: WatchdogSettings | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings, self._clock = settings or WatchdogSettings(), clock
        self._wanted_s: dict[str, float] = {}
        self._placed: dict[str, _Mark] = {}
        self._tiles: _Mark | None = None

    def stalls(self, now: Snapshot) -> tuple[str, ...]:
        """What does not go on, in plain words; nothing where all is well."""
        if now.stopping:
            return ()
        now_s = self._clock()
        rows = {row.side: row for row in now.rows}
        silent_s = {camera.name: self._silent_s(camera, now_s) for camera in now.cameras}
        found = [
            reason for camera in now.cameras for reason in self._camera(camera, rows[camera.side], silent_s, now_s)
        ]
        found += [*self._segmenter(now, now_s), *self._no_frames(now, silent_s)]
        return tuple(found)

    def _silent_s(self, camera: CameraStatus, now_s: float) -> float:
        """Seconds without a frame, in which frames were wanted: repairs before a run and its end take none."""
        if camera.state == "idle" or camera.name not in self._wanted_s:
            self._wanted_s[camera.name] = now_s
        wanted_s = now_s - self._wanted_s[camera.name]
        return wanted_s if camera.frame_age_s is None else min(camera.frame_age_s, wanted_s)

    def _camera(self, camera: CameraStatus, row: RowStatus, silent_s: dict[str, float], now_s: float) -> Iterator[str]:
        patience_s = self._settings.patience_s
        if camera.state in ("ok", "starting") and silent_s[camera.name] > patience_s:
            yield f"nobody reads the camera {camera.name}: no frame and no word for {silent_s[camera.name]:.0f} s"
        mark = self._placed.get(camera.name)
        if mark is None or row.row is None or camera.placed != mark.value or camera.frames == mark.frames:
            self._placed[camera.name] = _Mark(camera.placed, now_s, camera.frames)
        elif now_s - mark.moved_s > patience_s:
            yield f"frames of {camera.name} are not placed any more: none for {now_s - mark.moved_s:.0f} s"

    def _segmenter(self, now: Snapshot, now_s: float) -> Iterator[str]:
        mark = self._tiles
        if mark is None or now.backlog_tiles == 0 or now.tiles != mark.value:
            self._tiles = _Mark(now.tiles, now_s)
        elif now_s - mark.moved_s > self._settings.patience_s:
            yield f"{now.backlog_tiles} tiles wait and none was finished for {now_s - mark.moved_s:.0f} s"

    def _no_frames(self, now: Snapshot, silent_s: dict[str, float]) -> Iterator[str]:
        ages = [silent_s[camera.name] for camera in now.cameras if camera.state not in ("idle", "off")]
        if ages and min(ages) > self._settings.no_frames_s:
            yield f"no camera gave a frame for {min(ages):.0f} s"


class Watchdog:
    """A thread that looks at the board, feeds systemd's watchdog while work goes on, and tells it a line of status.

    It feeds three times as often as is asked for. Where work stalls it stops feeding, logs why, and leaves the rest to
    systemd (`WatchdogSec=`, `Restart=on-watchdog`). Should this thread itself fail, feeding ends as well.

    Args:
        board: the run.
        notifier: the service manager.
        judge: decides; for tests.
    """

    def __init__(self, board: StatusBoard, notifier: Notifier, judge: WorkJudge | None = None) -> None:
        self._board, self._notifier, self._judge = board, notifier, judge or WorkJudge()
        self._period_s = min(STATUS_EVERY_S, (notifier.watchdog_s or 3 * STATUS_EVERY_S) / 3)
        self._told_end = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """End; calling it twice does no harm."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def look(self) -> bool:
        """Look once; True where the watchdog was fed."""
        now = self._board.snapshot()
        if now.stopping and not self._told_end:
            self._told_end = True
            self._notifier.stopping()
        stalls = self._judge.stalls(now)
        if stalls:
            _log.error("work stands still: %s", "; ".join(stalls))
            self._board.problem(_PROBLEM, "; ".join(stalls), level="fault")
        else:
            self._board.solved(_PROBLEM)
            self._notifier.feed()
        self._notifier.status(one_line(now) if not stalls else f"stalled: {'; '.join(stalls)}")
        return not stalls

    def _run(self) -> None:
        while not self._ended.wait(self._period_s):
            self.look()
