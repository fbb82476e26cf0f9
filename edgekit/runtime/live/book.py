"""The rows of a live run, from their opening to their fruit: what goes to the writer, and what the board is told."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Sequence

from edgekit.calibration import DriftStatus
from edgekit.contracts import TileResult
from edgekit.runtime.counting import Counting
from edgekit.runtime.job import Job
from edgekit.runtime.live.backlog import LiveBatch
from edgekit.runtime.live.gate import Opening
from edgekit.runtime.live.live_row import LiveRow, live_row
from edgekit.runtime.live.writer import Writer
from edgekit.runtime.stage_clock import StageClock
from edgekit.runtime.watch.board import StatusBoard
from edgekit.store import CountRule, LiveRowPlan, PanoramaShape, RunFolder, RunRecorder

_log = logging.getLogger(__name__)


class Book:
    """Opens, ends and counts rows. Everything that is told as done is on the disk.

    Args:
        job: settings and threshold.
        folder: of the run.
        run_id: of the run.
        writer: of its database.
        board: where the rows are shown.
        clock: where the time of the stages is added up.
    """

    def __init__(
        self, job: Job, folder: RunFolder, run_id: int, *, writer: Writer, board: StatusBoard, clock: StageClock
    ) -> None:
        self._job = job
        self._folder = folder
        self._run_id = run_id
        self._writer = writer
        self._board = board
        self._clock = clock
        self._counting: Counting | None = None
        self._lock = threading.Lock()
        self._rows: list[LiveRow] = []
        self._open: dict[str, LiveRow] = {}
        self._named: Counter[str] = Counter()

    # Any thread

    def take(self, rows: Sequence[LiveRow], named: Counter[str]) -> None:
        """Rows of an earlier start whose tiles wait; how many rows each side has had."""
        with self._lock:
            self._rows += rows
            self._named = named

    def open_row(self, opening: Opening, label: str) -> LiveRow:
        """A row begins on a side.

        Raises:
            StorageError: it cannot be written down.
        """
        with self._lock:
            self._named[label] += 1
            name = opening.row or f"{self._named[label]:03d}"
        plan = LiveRowPlan(name, label, opening.by)
        ids = self._writer.ask(lambda recorder: recorder.open_row(self._run_id, plan))
        row = live_row(ids, (name, label), folder=self._folder.segments(ids[1]), tiles=self._job.settings.tiles)
        with self._lock:
            self._rows.append(row)
            self._open[label] = row
        self._board.row_opened(label, name)
        _log.info("row %s %s begins (%s)", name, label, opening.by)
        return row

    def end_row(self, row: LiveRow, shape: PanoramaShape, remarks: Sequence[str]) -> None:
        """A row is over; its panorama is on the disk."""
        row.shape = shape

        def change(recorder: RunRecorder) -> None:
            recorder.end_row(row.id, shape)
            for remark in remarks:
                recorder.event(self._run_id, "remark", remark, source_id=row.id)

        self._writer.do(change)
        self._close(row)
        _log.info("row %s %s ends: %d px, %s frames", row.name, row.label, shape.size_wh[0], shape.frames)
        for remark in remarks:
            _log.warning("row %s %s: %s", row.name, row.label, remark)

    def fail_row(self, row: LiveRow, why: str) -> None:
        """Nothing can be counted in a row."""
        row.counted = True

        def change(recorder: RunRecorder) -> None:
            recorder.fail_source(row.id)
            recorder.event(self._run_id, "source fault", why, source_id=row.id)

        self._writer.do(change)
        self._close(row)
        _log.error("row %s %s cannot be counted: %s", row.name, row.label, why)

    def note(self, kind: str, message: str) -> None:
        """Write down what a person should know of this run."""
        self._writer.do(lambda recorder: recorder.event(self._run_id, kind, message))

    def rows(self) -> list[LiveRow]:
        """Rows of this start and those taken up, the oldest first."""
        with self._lock:
            return list(self._rows)

    @property
    def all_counted(self) -> bool:
        """No row is open or waits for its fruit."""
        return all(row.counted for row in self.rows())

    def give_up_pictures(self, row: LiveRow) -> None:
        """The pictures of a row are not kept; on the disk when this returns.

        Raises:
            StorageError: it cannot be written down.
        """
        self._writer.ask(lambda recorder: recorder.drop_pictures(row.id))

    # The model's thread

    def record(self, batch: LiveBatch, results: Sequence[TileResult]) -> None:
        """Store the results of a batch; a tile counts as done when it is on the disk."""
        by_row: dict[LiveRow, list[int]] = {}
        for index, place in enumerate(batch.places):
            by_row.setdefault(place.row, []).append(index)

        def change(recorder: RunRecorder) -> None:
            with self._clock.stage("store"):
                for row, some in by_row.items():
                    recorder.add_tiles(row.id, [(batch.places[index].spec, results[index]) for index in some])

        def durable() -> None:
            for row, some in by_row.items():
                row.safe_px = batch.places[some[-1]].spec.x_px
                with self._lock:
                    is_open = self._open.get(row.label) is row
                self._board.tiles_done(len(some), side=row.label if is_open else None)

        self._writer.do(change, durable=durable)

    def count(self, row: LiveRow) -> None:
        """Every result of a row went to the writer: its detections become fruit."""
        shape = row.shape
        assert shape is not None
        counts: list[int] = []

        def change(recorder: RunRecorder) -> None:
            recorder.close_source(row.id, shape)
            self._counting_of(recorder).merge(row.id)
            counts[:] = [recorder.reader.count_fruit(row.id, self._rule)]

        def durable() -> None:
            row.counted = True
            self._board.fruit_counted(counts[0])
            if (status := self.drift) is not None:
                self._board.drift(status.sentence(), drifted=status.drifted, rank_shift=status.rank_shift)
            _log.info("row %s %s: %d fruit", row.name, row.label, counts[0])

        self._writer.do(change, durable=durable)

    @property
    def drift(self) -> DriftStatus | None:
        """What the confidences of the rows that were counted since the start say of the season's."""
        monitor = None if self._counting is None else self._counting.drift
        return None if monitor is None else monitor.status()

    def _close(self, row: LiveRow) -> None:
        with self._lock:
            was_open = self._open.get(row.label) is row
            if was_open:
                del self._open[row.label]
        if was_open:
            self._board.row_closed(row.label)

    def _counting_of(self, recorder: RunRecorder) -> Counting:
        if self._counting is None:
            self._counting = Counting(
                recorder, self._run_id, settings=self._job.settings.merge, season=self._job.season, clock=self._clock
            )
        return self._counting

    @property
    def _rule(self) -> CountRule:
        return CountRule(self._job.threshold, self._job.season.bands if self._job.season else ())
