"""One camera of a live run: its frames become the panorama of the row that is open, in segments on the disk."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from edgekit.contracts import Columns, FrameSource
from edgekit.errors import SettingsError, SourceError
from edgekit.runtime.live.backlog import Backlog
from edgekit.runtime.live.book import Book
from edgekit.runtime.live.gate import Gate, Opening, RowFrames
from edgekit.runtime.live.live_row import LiveRow
from edgekit.runtime.live.patience import write_patiently
from edgekit.runtime.panorama.left_open import GrowthNote, write_note
from edgekit.runtime.row_panorama import RowPanorama
from edgekit.runtime.row_view import RowView
from edgekit.runtime.stage_clock import StageClock
from edgekit.runtime.watch.board import StatusBoard

SILENT_S = 3.0
"""Without a frame for so long, a camera is shown as lost; its reader starts it again after 2.5 s."""
FIRST_FRAME_S = 12.0
"""So long a camera may take to start without being called lost; its reader gives it 10 s. One that cannot be opened
says so before."""
_log = logging.getLogger(__name__)


class Lane:
    """Two threads: `capture` reads the camera, `build` makes panoramas of what it sees.

    Args:
        camera: its name, and the label of its side.
        source: its frames.
        gate: when its rows begin and end.
        view: the camera's optics, with the settings of panorama and segments.
        board: where frames are counted.
        clock: where the time of the stages is added up.
    """

    def __init__(
        self,
        camera: tuple[str, str],
        source: FrameSource,
        gate: Gate,
        *,
        view: RowView,
        board: StatusBoard,
        clock: StageClock,
    ) -> None:
        self.name, self.label = camera
        self.gate = gate
        self._source = source
        self._view = view
        self._settings = view.settings
        self._board = board
        self._clock = clock
        self._frame_s = time.monotonic()
        self._seen = False
        self._silent = False

    def capture(self) -> None:
        """Read the camera until it is closed; the reader mends outages, and is the only one to drop frames."""
        dropped = 0
        self._board.camera_starting(self.name)
        try:
            for frame in self._source:
                now_dropped = getattr(self._source, "dropped", 0)
                self._frame_s, self._seen = time.monotonic(), True
                self._board.frame(self.name, dropped=now_dropped - dropped)
                dropped = now_dropped
                self.gate.put(frame)
        except SourceError as error:  # the other side goes on
            _log.error("the camera %s is given up: %s", self.name, error)
            self._board.camera_fault(self.name, error.what, state="off")
        finally:
            self._source.close()

    def close(self) -> None:
        """End the camera."""
        self._source.close()

    def look(self) -> None:
        """Tell the board where the camera has fallen silent, or gives frames again."""
        trouble = getattr(self._source, "trouble", None)
        patience_s = SILENT_S if self._seen or trouble else FIRST_FRAME_S
        silent = time.monotonic() - self._frame_s > patience_s
        if silent and not self._silent:
            reason = trouble or "no frame"
            self._board.camera_fault(self.name, reason, state="frozen" if "stood still" in reason else "lost")
            _log.warning("the camera %s gives no frames (%s)", self.name, reason)
        elif self._silent and not silent:
            _log.warning("the camera %s gives frames again", self.name)
        self._silent = silent

    def build(self, book: Book, backlog: Backlog) -> None:
        """Rows, one after the other, until the run ends."""
        while (opening := self.gate.next_opening()) is not None:
            self._ride(opening, book, backlog)

    def _ride(self, opening: Opening, book: Book, backlog: Backlog) -> None:
        """One row: its frames become panorama columns, and segments on the disk, which wait for the model."""
        panorama = RowPanorama(self._settings, self._clock, write=write_patiently)
        moved = opening.by != "movement"
        of_row = self.gate.frames(lambda: panorama.movement if moved else None)
        frames = RowFrames(self.name, of_row, lambda: self._board.placed(self.name))
        columns = panorama.built(frames, self._view)
        if not moved:
            found = self._first_movement(columns, frames)
            if found is None:
                return
            columns, moved = found, True
        row = book.open_row(opening, self.label)
        try:
            for _ in panorama.kept(columns, row.folder, told=self._segments(row, panorama, backlog)):
                self._leave_note(row, panorama)
                self._tell_length(panorama)
        except SourceError as error:
            book.fail_row(row, error.what)
            return
        except SettingsError as error:
            self._tell_misfit(error)
            book.fail_row(row, error.what)
            return
        book.end_row(row, panorama.shape, panorama.remarks)
        backlog.end(row)

    def _first_movement(self, columns: Iterator[Columns], frames: RowFrames) -> Iterator[Columns] | None:
        """The columns, once the first of them came because the trolley moved; None where it did not."""
        try:
            first = next(columns, None)
        except SourceError:  # not one frame came
            return None
        except SettingsError as error:
            self._tell_misfit(error)
            return None
        return None if first is None or frames.ended else chain([first], columns)

    def _tell_misfit(self, error: SettingsError) -> None:
        """The camera's frames are of another size than its lens or flat field; the other side goes on."""
        _log.error("the camera %s: %s", self.name, error)
        self._board.problem(
            f"optics {self.name}", f"rows of {self.name} cannot be counted: {error.what}", level="fault"
        )

    def _segments(self, row: LiveRow, panorama: RowPanorama, backlog: Backlog) -> Callable[[Path], None]:
        """What becomes of each segment that is on the disk."""
        segment_px = self._settings.segments.width_px
        told_px = 0

        def told(path: Path) -> None:
            nonlocal told_px
            width_px = min(segment_px, panorama.shape.size_wh[0] - told_px)
            told_px += width_px
            backlog.add(row, path, (width_px, panorama.height_px))

        return told

    def _leave_note(self, row: LiveRow, panorama: RowPanorama) -> None:
        """Before the first segment: what is needed to close the panorama after a power cut."""
        if row.noted:
            return
        row.direction, row.noted = panorama.direction, True
        segments = self._settings.segments
        note = GrowthNote(panorama.height_px, segments.width_px, panorama.direction, segments.kind)
        write_note(row.folder, note, write=write_patiently)

    def _tell_length(self, panorama: RowPanorama) -> None:
        camera = self._view.camera
        scale = (camera.px_per_metre if camera else None) or self._settings.px_per_metre
        if scale:
            self._board.row_counts(self.label, length_m=panorama.shape.size_wh[0] / scale)
