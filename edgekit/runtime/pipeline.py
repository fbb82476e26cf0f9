"""The main job: the rows of a run, from their frames to their fruit, in a folder that outlives a cut."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path

from edgekit.atomic import write_atomic
from edgekit.contracts import Progress, Segmenter, TileResult
from edgekit.errors import SourceError
from edgekit.runtime.ahead import ahead
from edgekit.runtime.counting import Counting
from edgekit.runtime.job import Job
from edgekit.runtime.memory import peak_rss_mb
from edgekit.runtime.models import segment_all
from edgekit.runtime.panorama.segments import read_index
from edgekit.runtime.panorama.take_over import take_over
from edgekit.runtime.results import write_results
from edgekit.runtime.row_pass import Batch, RowPass
from edgekit.runtime.stage_clock import StageClock
from edgekit.store import PanoramaShape, RunFolder, RunRecorder, StoredSource
from edgekit.store.coco import to_json
from edgekit.store.summary import Summary, Timing, summarise

BATCHES_AHEAD = 2
"""Batches that are cut before the model asks for them; enough to hide decoding and encoding, few enough to hold."""


def run_job(job: Job, out: Path, models: Sequence[Segmenter], *, progress: Progress) -> Summary:
    """Count the fruit of every source into a run folder; take up again what an earlier, cut run left there.

    `models` are copies of one model, each of which works on a tile of its own (`models.opened_models`). Sources that
    cannot be read are left out, told in the summary, and raised when everything else is done.

    Raises:
        SourceError: a source cannot be read.
        RunFolderError: the folder holds a finished or another run, or other things.
        StorageError: the disk is full, read-only or failing; what was finished is kept.
    """
    started_s = time.monotonic()
    folder = RunFolder(out)
    with folder.claimed() as aside:
        recorder = RunRecorder(folder.database)
        try:
            pipeline = Pipeline(job, folder, recorder, models, progress=progress)
            for message in aside:
                pipeline.note("set aside", message)
            return pipeline.run(started_s)
        finally:
            recorder.close()


class Pipeline:
    """The rows of one run, one after the other.

    Args:
        job: what is to be counted.
        folder: where it is written; claimed by this process.
        recorder: the folder's database.
        models: copies of the model, at least one.
        progress: told how far the work is.

    Raises:
        RunFolderError: the database holds another run.
    """

    def __init__(
        self, job: Job, folder: RunFolder, recorder: RunRecorder, models: Sequence[Segmenter], *, progress: Progress
    ) -> None:
        self._settings = job.settings
        self._built = job.built
        self._folder = folder
        self._recorder = recorder
        self._models = models
        self._progress = progress
        self._clock = StageClock()
        self._tiles_done = 0
        self._tiles_waiting = 0
        self._reported: tuple[int, int | None] = (0, None)
        self._run_id = recorder.begin(job.plan(models[0]))
        self._counting = Counting(
            recorder, self._run_id, settings=job.settings.merge, season=job.season, clock=self._clock
        )

    def run(self, started_s: float) -> Summary:
        """Every row that is not counted yet, then the files that are written from the database.

        Args:
            started_s: when the work began, on the monotonic clock.

        Raises:
            SourceError: a source could not be read; the others are counted.
        """
        self._take_over()
        rows = self._open_rows()
        self._count(rows)
        failures = [row.failure for row in rows if row.failure is not None]
        if failures and all(source.state == "failed" for source in self._sources()):
            raise failures[0]
        if self._counting.drift is not None:
            self.note("drift", self._counting.drift.status().sentence())
        with self._clock.stage("results"):
            write_results(self._folder, self._recorder.reader)
        timing = Timing(time.monotonic() - started_s, self._clock.spent_ms(), peak_rss_mb())
        drift = None if self._counting.drift is None else self._counting.drift.status().as_json()
        summary = summarise(self._recorder.reader, timing, drift=drift)
        write_atomic(self._folder.summary, to_json(summary))
        self._recorder.finish(self._run_id)
        if failures:
            raise failures[0]
        return summary

    def step(self, row: RowPass) -> Iterator[Batch]:
        """One row: its frames become panorama columns, segments on disk, tiles, batches for the model."""
        columns = row.columns()
        columns = columns if self._built else row.kept(columns)
        tiles = row.tiles(columns)
        return row.batches(tiles, self._models[0].info.batch)

    def _count(self, rows: Sequence[RowPass]) -> None:
        """Batches go through the model, results into the database; a row whose results are complete becomes fruit.

        The rows are one stream, so that the model does not wait at the end of a row. A row is complete when the first
        result of a later one comes, since results keep their order.
        """
        incomplete = deque(rows)
        with closing(ahead(self._batches(rows), BATCHES_AHEAD)) as batches:  # its thread ends before the run does
            for batch, found in self._clock.each("infer", segment_all(batches, self._models)):
                while incomplete[0] is not batch.row:
                    self._settle(incomplete.popleft())
                self._record(batch, found)
        while incomplete:
            self._settle(incomplete.popleft())

    def _batches(self, rows: Iterable[RowPass]) -> Iterator[Batch]:
        return chain.from_iterable(self._readable(row) for row in rows)

    def _readable(self, row: RowPass) -> Iterator[Batch]:
        """The batches of a row; one that cannot be read does not keep the others from being counted."""
        try:
            yield from self.step(row)
        except SourceError as error:
            row.failure = error

    def _record(self, batch: Batch, results: Sequence[TileResult]) -> None:
        """Store the results of a batch; a tile counts as done when it is on the disk."""
        with self._clock.stage("store"):
            self._recorder.add_tiles(batch.row.source.id, zip(batch.specs, results, strict=True))
            self._tiles_waiting += len(results)
            if self._recorder.commit_if_due():
                self._tiles_done += self._tiles_waiting
                self._tiles_waiting = 0
        self._report(batch.row)

    def _settle(self, row: RowPass) -> None:
        """Every result of a row is stored: note what its panorama is, and merge its detections into fruit."""
        source_id = row.source.id
        with self._clock.stage("store"):
            for remark in row.remarks:
                self.note("remark", remark, source_id=source_id)
            if row.failure is not None:
                self._recorder.fail_source(source_id)
                self.note("source fault", row.failure.what, source_id=source_id)
            else:
                self._recorder.close_source(source_id, self._shape(row))
        if row.failure is None:
            self._counting.merge(source_id)
        self._progress("rows", row.source.number + 1, len(self._sources()))

    def note(self, kind: str, message: str, *, source_id: int | None = None) -> None:
        """Write down what a person should know of this run."""
        self._counting.note(kind, message, source_id=source_id)

    def _take_over(self) -> None:
        """The panoramas of an earlier run become this run's own, with what is known of them."""
        for source, row in zip(self._sources(), self._built, strict=False):
            with self._clock.stage("segments"):
                take_over(row.segments, self._folder.segments(source.number))
            self._recorder.name_row(source.id, row.row, row.side)
            for remark in row.remarks:
                self.note("remark", remark, source_id=source.id)

    def _shape(self, row: RowPass) -> PanoramaShape:
        """What the panorama of a row is like; of one that was taken over, what the earlier run knew of it."""
        if not self._built:
            return row.shape
        number = row.source.number
        known = self._built[number]
        segments = len(read_index(self._folder.segments(number)).files)
        return replace(row.shape, segments=segments, px_per_metre=known.px_per_metre, bridged=known.bridged)

    def _open_rows(self) -> list[RowPass]:
        """The rows whose tiles are not all stored; those that were cut completely only lack their fruit."""
        rows = []
        for source in self._sources():
            if source.state == "cut":
                self._counting.merge(source.id)
            elif source.state == "merged":
                self._counting.watch(source.id, self._recorder.reader.tiles(source.id))
            else:
                stored = self._recorder.reader.tile_specs(source.id)
                segments = self._folder.segments(source.number)
                source = replace(source, path=str(segments)) if self._built else source
                rows.append(RowPass(source, segments, self._settings, stored, self._clock))
        return rows

    def _report(self, row: RowPass) -> None:
        """Say how far the row is, where that has changed."""
        now = (self._tiles_done, row.frames)
        if now != self._reported:
            self._progress("tiles", self._tiles_done)
            if row.frames is not None and row.frames != self._reported[1]:
                self._progress("frames", row.frames, row.expected_frames)
            self._reported = now

    def _sources(self) -> list[StoredSource]:
        return self._recorder.reader.sources()
