"""Deleting runs, or their pictures alone. What goes is written down before it goes."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from edgekit.atomic import flush, storage_error
from edgekit.errors import RunFolderError
from edgekit.runtime.retention.choose import Removal
from edgekit.runtime.retention.listing import RunOnDisk, look_at_run, runs_below
from edgekit.store import RunFolder
from edgekit.sync.files import LOCK_NAME

LOG_NAME = "deleted-runs.jsonl"
"""Beside the runs: a line for each that was deleted, or whose pictures were."""
_LEAVING = ".leaving-"
_LOCKS = (".lock", LOCK_NAME)
"""Held by who writes a run, and by who sends it."""


def remove_run(removal: Removal) -> int:
    """Delete a finished run; return the bytes that this freed.

    It is taken out of the way at one stroke, so that a power cut leaves it whole or gone.

    Raises:
        RunFolderError: it is in use, or has changed since it was chosen.
        StorageError: the disk is read-only or failing.
    """
    run = removal.run
    root = run.path.parent
    try:
        with _unused(run.path):
            _check_unchanged(run)
            _write_down(root, run, "run", removal.reason)
            leaving = root / f"{_LEAVING}{run.path.name}"
            run.path.rename(leaving)
            flush(root)
            shutil.rmtree(leaving)
    except OSError as error:
        raise storage_error(run.path, error) from error
    return run.size_bytes


def finish_removals(root: Path) -> None:
    """Delete what a power cut has left of runs that were being deleted.

    Raises:
        StorageError: the disk is read-only or failing.
    """
    try:
        for path in root.glob(f"{_LEAVING}*"):
            shutil.rmtree(path)
    except OSError as error:
        raise storage_error(root, error) from error


def make_room(root: Path, wanted_bytes: int) -> int:
    """Let go of the pictures of finished and synchronised runs, the oldest first; their counts stay.

    Args:
        root: folder of the runs.
        wanted_bytes: what is to be freed.

    Returns:
        The bytes that were freed: as many as there were, at most.
    """
    freed = 0
    for run in runs_below(root):
        if freed >= wanted_bytes:
            break
        if run.state == "finished" and run.synchronised and run.pictures_bytes:
            try:
                freed += _remove_pictures(run)
            except (OSError, RunFolderError):  # in use, or the disk fails: another one may do
                continue
    return freed


def _remove_pictures(run: RunOnDisk) -> int:
    with _unused(run.path):
        _write_down(run.path.parent, run, "pictures", "space is short")
        shutil.rmtree(RunFolder(run.path).panorama)
    return run.pictures_bytes


def _check_unchanged(run: RunOnDisk) -> None:
    now = look_at_run(run.path)
    if (now.state, now.targets) != (run.state, run.targets):
        raise RunFolderError(f"{run.path} has changed since it was looked at", mend="look again")


def _write_down(root: Path, run: RunOnDisk, what: str, reason: str) -> None:
    """One line, on the disk before anything is deleted."""
    line = {
        "at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "run": run.path.name,
        "what": what,
        "reason": reason,
        "bytes": run.size_bytes if what == "run" else run.pictures_bytes,
        "lies_at": list(run.targets),
    }
    with (root / LOG_NAME).open("a", encoding="utf-8") as log:
        log.write(json.dumps(line) + "\n")
        log.flush()
        os.fsync(log.fileno())


@contextmanager
def _unused(path: Path) -> Iterator[None]:
    """Hold a run that nobody else writes or sends.

    Raises:
        RunFolderError: somebody does.
    """
    handles: list[int] = []
    try:
        for name in _LOCKS:
            handles.append(os.open(path / name, os.O_RDWR | os.O_CREAT, 0o644))
            try:
                fcntl.flock(handles[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise RunFolderError(f"{path} is in use", mend="wait until it is written and sent") from error
        yield
    finally:
        for handle in handles:
            os.close(handle)
