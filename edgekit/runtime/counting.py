"""When every result of a row is stored: detections become fruit, confidences are compared with the season's."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from edgekit.calibration import drift_monitor
from edgekit.runtime.stage_clock import StageClock
from edgekit.store import MergedFruit, RunRecorder, Season, StoredTile
from edgekit.tiles import MergeSettings, merge


class Counting:
    """What is made of stored results.

    Args:
        recorder: the run's database.
        run_id: of the run.
        settings: how pieces become fruit.
        season: whose confidences are known; None: there is none to compare with.
        clock: where the time of the stages is added up.
    """

    def __init__(
        self,
        recorder: RunRecorder,
        run_id: int,
        *,
        settings: MergeSettings,
        season: Season | None = None,
        clock: StageClock | None = None,
    ) -> None:
        self._recorder = recorder
        self._run_id = run_id
        self._settings = settings
        self._clock = clock or StageClock()
        self.drift = drift_monitor(season)
        """None where nothing is known of the season's confidences."""

    def merge(self, source_id: int) -> None:
        """All detections of a row become fruit, once, whatever their score."""
        reader = self._recorder.reader
        with self._clock.stage("merge"):
            tiles = list(reader.tiles(source_id))
            specs, found = [tile.spec for tile in tiles], [tile.instances for tile in tiles]
            merged = merge(specs, found, reader.source(source_id).size_wh, self._settings)
            pieces = tuple(len(members) for members in merged.members)
            fruit = MergedFruit(merged.instances, tuple(merged.cut.tolist()), pieces)
        with self._clock.stage("store"):
            self._recorder.put_fruit(source_id, fruit)
            self._recorder.commit_if_due()
        self.watch(source_id, tiles)

    def watch(self, source_id: int, tiles: Iterable[StoredTile]) -> None:
        """Compare a row's confidences with the season's, and say so where they have drifted."""
        if self.drift is None:
            return
        for tile in tiles:
            self.drift.add_tile(tile.instances.scores.astype(np.float64))
        if self.drift.status().drifted:
            self.note("remark", self.drift.status().sentence(), source_id=source_id)

    def note(self, kind: str, message: str, *, source_id: int | None = None) -> None:
        """Write down what a person should know of this run."""
        self._recorder.event(self._run_id, kind, message, source_id=source_id)
