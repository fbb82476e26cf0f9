"""The run folder: the database that a run writes, and the files that are written from it."""

from edgekit.store.count_rule import CountRule, HeightBand, Season
from edgekit.store.reader import RunReader
from edgekit.store.recorder import RunRecorder
from edgekit.store.records import (
    LiveRowPlan,
    MergedFruit,
    PanoramaShape,
    RunPlan,
    Sitting,
    SourcePlan,
    StoredRun,
    StoredSource,
    StoredTile,
)
from edgekit.store.run_folder import RunFolder

__all__ = [
    "CountRule",
    "HeightBand",
    "LiveRowPlan",
    "MergedFruit",
    "PanoramaShape",
    "RunFolder",
    "RunPlan",
    "RunReader",
    "RunRecorder",
    "Season",
    "Sitting",
    "SourcePlan",
    "StoredRun",
    "StoredSource",
    "StoredTile",
]
