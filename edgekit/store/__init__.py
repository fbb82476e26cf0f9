"""The run folder: the database that a run writes, and the files that are written from it."""

from edgekit.store.reader import RunReader
from edgekit.store.recorder import RunRecorder
from edgekit.store.records import MergedFruit, PanoramaShape, RunPlan, SourcePlan, StoredRun, StoredSource, StoredTile
from edgekit.store.run_folder import RunFolder

__all__ = [
    "MergedFruit",
    "PanoramaShape",
    "RunFolder",
    "RunPlan",
    "RunReader",
    "RunRecorder",
    "SourcePlan",
    "StoredRun",
    "StoredSource",
    "StoredTile",
]
