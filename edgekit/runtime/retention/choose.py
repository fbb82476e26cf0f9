"""Which runs go, and why. Nothing is deleted here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from edgekit.runtime.retention.listing import RunOnDisk
from edgekit.runtime.retention.settings import RetentionSettings

GB = 1e9


@dataclass(frozen=True)
class Removal:
    """A run that goes."""

    run: RunOnDisk
    reason: str


@dataclass(frozen=True)
class Pruning:
    """What becomes of the runs."""

    removals: tuple[Removal, ...]
    """In the order in which they go."""
    held: tuple[Removal, ...]
    """Runs that are due but stay, and why."""
    missing_bytes: int
    """Space that the limits ask for and that no run may give; 0 where they are kept."""


def choose(
    runs: Sequence[RunOnDisk], settings: RetentionSettings, *, now: datetime, free_bytes: int | None = None
) -> Pruning:
    """Choose what goes: first what is too old, then, oldest first, what the space asks for.

    Args:
        runs: the oldest first.
        settings: the limits.
        now: by the wall clock.
        free_bytes: free space of the disk; None: that limit is not judged.
    """
    finished = [run for run in runs if run.state == "finished"]
    movable = finished[: max(len(finished) - settings.least, 0)]
    allowed = [run for run in movable if run.synchronised or settings.unsynchronised == "delete"]
    removals = [Removal(run, reason) for run in allowed if (reason := _too_old(run, settings, now))]
    held = [
        Removal(run, f"{reason}, but it lies nowhere else")
        for run in movable
        if run not in allowed and (reason := _too_old(run, settings, now))
    ]
    gone = [removal.run for removal in removals]
    missing = _missing(runs, gone, settings, free_bytes)
    for run in sorted((run for run in allowed if run not in gone), key=lambda run: not run.synchronised):
        if missing <= 0:
            break
        removals.append(Removal(run, f"{missing / GB:.1f} GB of space are missing"))
        gone.append(run)
        missing = _missing(runs, gone, settings, free_bytes)
    return Pruning(tuple(removals), tuple(held), max(missing, 0))


def _too_old(run: RunOnDisk, settings: RetentionSettings, now: datetime) -> str | None:
    age = run.age_days(now)
    if settings.keep_days is None or age is None or age <= settings.keep_days:
        return None
    return f"finished {age:.0f} days ago, kept for {settings.keep_days:g}"


def _missing(
    runs: Sequence[RunOnDisk], gone: Sequence[RunOnDisk], settings: RetentionSettings, free_bytes: int | None
) -> int:
    """Bytes by which the limits are passed once the runs in `gone` are deleted; 0 or less where they are kept."""
    freed = sum(run.size_bytes for run in gone)
    missing = [0]
    if settings.keep_gb is not None:
        missing.append(sum(run.size_bytes for run in runs) - freed - int(settings.keep_gb * GB))
    if settings.free_gb is not None and free_bytes is not None:
        missing.append(int(settings.free_gb * GB) - free_bytes - freed)
    return max(missing)
