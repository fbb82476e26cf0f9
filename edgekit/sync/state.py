"""`sync.json` in a run's folder: what of the run lies where, verified.

    {"schema": 1, "targets": {"s3://bucket/runs": {"complete": true, "files": {"run.sqlite": {...}, ...}}}}

`files` holds what was compared with the target's copy by digest. A file that is deleted here afterwards stays in the
record and at the target: that is what makes deleting safe.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from edgekit.atomic import write_atomic
from edgekit.errors import SettingsError
from edgekit.settings_file import settings_from
from edgekit.sync.files import STATE_NAME, FileEntry, run_files

SCHEMA = 1


@dataclass
class TargetState:
    """What lies at one target."""

    complete: bool = False
    """True once the finished run's manifest is there."""
    files: dict[str, FileEntry] = field(default_factory=dict)
    """Verified files by their path."""


@dataclass
class SyncState:
    """All targets of a run."""

    targets: dict[str, TargetState] = field(default_factory=dict)

    def of(self, target: str) -> TargetState:
        """What lies at a target; an empty record where nothing does."""
        return self.targets.setdefault(target, TargetState())

    def known(self) -> Mapping[str, FileEntry]:
        """Digests that were read before, for any target."""
        return {name: entry for state in self.targets.values() for name, entry in state.files.items()}


def read_state(run: Path) -> SyncState:
    """The record of a run; empty where there is none or it is damaged, for then the targets are asked again."""
    try:
        values = json.loads((run / STATE_NAME).read_bytes())
        if values["schema"] != SCHEMA:
            return SyncState()
        return SyncState({name: _target(item) for name, item in values["targets"].items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SettingsError):
        return SyncState()


def write_state(run: Path, state: SyncState) -> None:
    """Keep the record.

    Raises:
        StorageError: the disk is full, read-only or failing.
    """
    write_atomic(run / STATE_NAME, json.dumps({"schema": SCHEMA, **asdict(state)}, indent=1).encode())


def targets_with_all(run: Path) -> tuple[str, ...]:
    """Names of the targets at which the whole finished run lies verified, with every file as it is here now.

    A file that was changed or added after the last sync lies nowhere else: then the run is at no target.
    """
    now = {}
    for path in run_files(run):
        with contextlib.suppress(FileNotFoundError):  # it was deleted while we looked
            stat = path.stat()
            now[path.relative_to(run).as_posix()] = (stat.st_size, stat.st_mtime_ns)
    return tuple(
        target for target, state in read_state(run).targets.items()
        if state.complete and now.items() <= {name: entry.seen for name, entry in state.files.items()}.items()
    )  # fmt: skip


def _target(values: dict[str, Any]) -> TargetState:
    return TargetState(
        bool(values["complete"]), {name: settings_from(item, FileEntry) for name, item in values["files"].items()}
    )
