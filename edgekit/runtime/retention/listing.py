"""The runs below a folder: how far they are, how large, and whether they lie elsewhere as well."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

from edgekit.errors import EdgekitError
from edgekit.store import RunFolder, RunReader
from edgekit.store.database import has_begun
from edgekit.sync.state import targets_with_all

State = Literal["open", "finished", "damaged"]
_NUMBERED = re.compile(r"\d{6}_\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class RunOnDisk:
    """One run."""

    path: Path
    state: State
    finished_at: datetime | None
    """By the wall clock of that moment; None where it is not finished or nobody knows."""
    size_bytes: int
    """What deleting it would free: files that belong to another run as well do not count."""
    pictures_bytes: int
    """Of these, its panoramas."""
    targets: tuple[str, ...] = ()
    """Where the whole finished run lies as well, every file as it is here now."""
    rows: int = 0

    @property
    def synchronised(self) -> bool:
        """True where it lies elsewhere as well."""
        return bool(self.targets)

    def age_days(self, now: datetime) -> float | None:
        """Days since it was finished, 0 where the clock was set back; None where nobody knows."""
        return None if self.finished_at is None else max((now - self.finished_at).total_seconds() / 86400, 0.0)


def runs_below(root: Path) -> list[RunOnDisk]:
    """Every run in a folder, the oldest first: numbered ones by their numbers, then others by their ends."""
    if not root.is_dir():
        return []
    folders = [path for path in root.iterdir() if path.name[0] != "." and RunFolder(path).database.is_file()]
    return sorted((look_at_run(path) for path in folders), key=_age)


def look_at_run(path: Path) -> RunOnDisk:
    """One run; a damaged one says so instead of raising."""
    folder = RunFolder(path)
    size, pictures = _size(path), _size(folder.panorama)
    try:
        if not has_begun(folder.database):
            return RunOnDisk(path, "open", None, size, pictures)
        reader = RunReader.open(folder.database)
        try:
            run, ended, rows = reader.run_or_none(), reader.finished_at(), len(reader.sources())
        finally:
            reader.close()
    except EdgekitError:
        return RunOnDisk(path, "damaged", None, size, pictures)
    if run is None or not run.finished:
        return RunOnDisk(path, "open", None, size, pictures, rows=rows)
    return RunOnDisk(path, "finished", _moment(ended), size, pictures, targets_with_all(path), rows)


def _age(run: RunOnDisk) -> tuple[bool, str, str]:
    if _NUMBERED.fullmatch(run.path.name):
        return False, run.path.name, ""
    return True, run.finished_at.isoformat() if run.finished_at else "9999", run.path.name


def _moment(text: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def _size(folder: Path) -> int:
    """Bytes of the files that lie nowhere else."""
    total = 0
    for path in folder.rglob("*"):
        try:
            state = path.lstat()
        except OSError:  # it was deleted while we looked
            continue
        total += state.st_blocks * 512 if path.is_file() and state.st_nlink == 1 else 0
    return total
