"""What a profile does to a run: its count, how far the count could be off, and whether the profile still fits."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgekit.calibration.drift import ConfidenceReference, DriftMonitor, DriftStatus
from edgekit.calibration.for_run import season_of
from edgekit.calibration.pairs import Floats
from edgekit.calibration.profile import Profile
from edgekit.store import CountRule, RunFolder, RunReader


@dataclass(frozen=True)
class CountEffect:
    """Merged fruit of a run at a threshold and at both ends of its interval."""

    threshold: float
    fruit: int
    low: float
    """Low end of the interval; more fruit are counted there."""
    fruit_at_low: int
    high: float
    fruit_at_high: int
    before: float
    """The threshold that the run was counted with."""
    fruit_before: int
    model_id: str
    """Of the run."""
    rows: tuple[int, ...]
    """Fruit of each row at the threshold."""


def count_effect(run: Path, threshold: float, interval: tuple[float, float]) -> CountEffect:
    """Count a run at a threshold and at the ends of its interval, from its stored fruit.

    Raises:
        RunFolderError: there is no run.
        RunDamagedError: its database is damaged.
    """
    with _opened(run) as reader:
        plan = reader.run().plan
        rows = [[reader.count_fruit(source.id, value) for value in (threshold, *interval, plan.rule)]
                for source in reader.sources()]  # fmt: skip
    fruit, at_low, at_high, before = (sum(row[at] for row in rows) for at in range(4))
    return CountEffect(
        threshold, fruit, interval[0], at_low, interval[1], at_high, plan.threshold, before, plan.model_id,
        tuple(row[0] for row in rows),
    )  # fmt: skip


def count_by_height(run: Path, profile: Profile) -> int:
    """Count a run with the profile's threshold of each height.

    Raises:
        RunFolderError: there is no run.
    """
    rule = CountRule(profile.threshold, season_of(profile).bands)
    with _opened(run) as reader:
        return sum(reader.count_fruit(source.id, rule) for source in reader.sources())


def drift_of_run(run: Path, reference: ConfidenceReference) -> DriftStatus:
    """Whether the confidences of a run's tiles, in the order of cutting, agree with a profile's.

    Raises:
        RunFolderError: there is no run.
    """
    monitor = DriftMonitor(reference)
    with _opened(run) as reader:
        for source in reader.sources():
            for tile in reader.tiles(source.id):
                monitor.add_tile(tile.instances.scores.astype(np.float64))
    return monitor.status()


def count_curve(run: Path, thresholds: Sequence[float]) -> Floats:
    """Merged fruit of a run at each threshold."""
    with _opened(run) as reader:
        sources = reader.sources()
        counts = [sum(reader.count_fruit(source.id, value) for source in sources) for value in thresholds]
    return np.array(counts, np.float64)


def _opened(run: Path) -> closing[RunReader]:
    return closing(RunReader.open(RunFolder(run).database))
