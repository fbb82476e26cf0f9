"""When the rows of one camera begin and end, and which frames belong to them."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from edgekit.contracts import Frame
from edgekit.runtime.live.site import OpenedBy, RowSettings
from edgekit.runtime.movement import Movement

if TYPE_CHECKING:
    from edgekit.runtime.markers.row_marks import RowMarks

FRAMES_WAITING = 24
"""Frames that may wait for the panorama: with those in the camera's reader two seconds at 15 Hz. A slow write or a
moment without the processor costs no frame; when they are full, the reader drops and counts."""
SILENT_S = 2.5
"""A pause between two frames that is told as a gap in the row; the camera's reader is as patient (`LiveSettings`)."""
_POLL_S = 0.1
_log = logging.getLogger(__name__)


class Opening(NamedTuple):
    """A row that is to begin."""

    row: str | None
    """Its name; None: the next number."""
    by: OpenedBy


class Closing(NamedTuple):
    """The open row is to end."""

    why: str


class Gate:
    """Takes the frames of one camera, and hands them to the row that is open.

    Frames come from the camera's thread, orders from any thread; rows are driven by the thread that builds panoramas.

    Args:
        settings: when rows begin and end.
        stop: set when the run ends.
        markers: looks for markers; None: nobody does.
        idle: called for each frame that belongs to no row.
    """

    def __init__(
        self,
        settings: RowSettings,
        stop: threading.Event,
        *,
        markers: RowMarks | None = None,
        idle: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._stop = stop
        self._markers = markers
        self._idle = idle
        self._coming: queue.SimpleQueue[Frame | Opening | Closing] = queue.SimpleQueue()
        self._room = threading.Semaphore(FRAMES_WAITING)
        self._held: Frame | None = None
        self._opening: Opening | None = None
        self._closing: str | None = None
        self._over = False

    # The camera's thread

    def put(self, frame: Frame) -> None:
        """A frame came; waits where too many do, so that only the camera's reader ever drops one."""
        while not self._stop.is_set():
            if self._room.acquire(timeout=_POLL_S):
                self._coming.put(frame)
                return

    # Any thread

    @property
    def waiting(self) -> int:
        """Frames that wait for the panorama."""
        return self._coming.qsize()

    def order(self, order: Opening | Closing) -> None:
        """Begin a row (which ends the one that is open), or end it; frames that came before are of the row before."""
        self._coming.put(order)

    # The panorama's thread

    @property
    def stopping(self) -> bool:
        """The run ends."""
        return self._stop.is_set()

    def next_opening(self) -> Opening | None:
        """Wait for a row to begin; None when the run ends. Frames pass by meanwhile."""
        while not self._stop.is_set():
            if self._opening is not None:
                opening, self._opening, self._closing = self._opening, None, None
                return opening
            if "movement" in self._settings.opened_by:
                self._closing = None
                return Opening(None, "movement")
            frame = self._next_frame()
            if frame is not None:
                self._look(frame)
                if self._opening is not None:
                    self._held = frame  # the row begins with it
                else:
                    self._idle()
        return None

    def frames(self, movement: Callable[[], Movement | None]) -> Iterator[Frame]:
        """The frames of the row that begins, until it ends.

        Args:
            movement: what the trolley does in this row; None: it has not begun to move.
        """
        while self._opening is None and self._closing is None:
            frame = self._next_frame()
            if frame is None:
                if self._stop.is_set() and self._coming.empty():
                    return
                continue
            self._look(frame)
            if self._opening is not None or self._closing is not None:
                self._held = frame if self._opening is not None else None
                return
            yield frame
            if "movement" in self._settings.opened_by:
                self._closing = self._ended_by(movement(), frame.image.shape[1])

    def _ended_by(self, movement: Movement | None, width_px: int) -> str | None:
        """Why the movement ends the row; None where it does not. One frame width back is a ride back, no swaying."""
        if movement is None:
            return None
        if movement.stood_s >= self._settings.stop_s:
            return f"the trolley stood still for {self._settings.stop_s:g} s"
        return "the trolley rides back" if movement.back_px > width_px else None

    def _next_frame(self) -> Frame | None:
        if self._held is not None:
            frame, self._held = self._held, None
            return frame
        try:
            item = self._coming.get(timeout=_POLL_S)
        except queue.Empty:
            return None
        if isinstance(item, Frame):
            self._room.release()
            return item
        self._heed(item)
        return None

    def _look(self, frame: Frame) -> None:
        if self._markers is not None:
            event = self._markers.look(frame)
            if event is not None:
                self._heed(Opening(event.row, "marker") if event.kind == "open" else Closing("marker"))

    def _heed(self, order: Opening | Closing) -> None:
        if isinstance(order, Opening):
            self._opening = order
        else:  # also of a row that has not begun yet
            self._opening, self._closing = None, order.why


class RowFrames:
    """The frames of one row as a source; tells of pauses and of frames that the camera's reader dropped.

    Args:
        name: of the row's camera.
        frames: of the row.
        placed: called when a frame is through the panorama stage.
    """

    def __init__(self, name: str, frames: Iterator[Frame], placed: Callable[[], None]) -> None:
        self._name = name
        self._frames = frames
        self._placed = placed
        self._lost = 0
        self._silent_s: list[float] = []
        self.ended = False
        """The row has no more frames."""

    @property
    def name(self) -> str:
        """What a person calls the camera."""
        return self._name

    @property
    def length(self) -> int | None:
        """Nobody can tell."""
        return None

    @property
    def faults(self) -> tuple[str, ...]:
        """What was wrong with the stream during the row."""
        faults = []
        if self._lost:
            faults.append(f"{self._lost} frames of {self._name} are missing")
        if self._silent_s:
            times = f"{len(self._silent_s)} times, " if len(self._silent_s) > 1 else ""
            faults.append(
                f"{self._name} gave no frame for {times}{sum(self._silent_s):.0f} s: what passed is not counted"
            )
        return tuple(faults)

    def __iter__(self) -> Iterator[Frame]:
        last: Frame | None = None
        for frame in self._frames:
            if last is not None:
                pause_s = frame.time_s - last.time_s
                if pause_s > SILENT_S:
                    self._silent_s.append(pause_s)
                else:
                    self._lost += max(frame.sequence - last.sequence - 1, 0)
            last = frame
            yield frame
            self._placed()  # the next one is asked for
        self.ended = True

    def close(self) -> None:
        """The camera goes on."""
