"""Watching a live run: the board its stages write on, metrics, health, watchdog, logs, device readings."""

from edgekit.runtime.watch.board import BUCKETS_S, StatusBoard
from edgekit.runtime.watch.snapshot import (
    CameraState,
    CameraStatus,
    DeviceStatus,
    Gap,
    Level,
    ModelStatus,
    Problem,
    RowStatus,
    Snapshot,
    StageStatus,
)

__all__ = [
    "BUCKETS_S", "CameraState", "CameraStatus", "DeviceStatus", "Gap", "Level", "ModelStatus", "Problem", "RowStatus",
    "Snapshot", "StageStatus", "StatusBoard",
]  # fmt: skip
