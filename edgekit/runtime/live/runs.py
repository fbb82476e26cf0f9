"""The run folders of one trolley: NUMBER_DAY, in order of their numbers, whatever the clock says."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

from edgekit.atomic import make_folder
from edgekit.errors import SettingsError
from edgekit.store import RunFolder, RunReader
from edgekit.store.database import has_begun

_NAME = re.compile(r"(\d{6})_(\d{4}-\d{2}-\d{2})")


def day_of(now: datetime, begins_h: int) -> str:
    """The day to which a moment belongs, where days begin at an hour other than midnight: a label."""
    return (now - timedelta(hours=begins_h)).date().isoformat()


def run_folders(out: Path) -> list[Path]:
    """The runs below a folder, the oldest first."""
    if not out.is_dir():
        return []
    return sorted(path for path in out.iterdir() if path.is_dir() and _NAME.fullmatch(path.name))


def next_folder(out: Path, day: str) -> Path:
    """The folder of a new run; it is not made yet."""
    last = run_folders(out)[-1:]
    number = int(last[0].name[:6]) + 1 if last else 1
    return out / f"{number:06d}_{day}"


def make_site_folder(path: Path) -> None:
    """Make a folder that the site file names, where it is missing.

    Raises:
        StorageError: it cannot be made.
        SettingsError: a file has its name.
    """
    if path.exists() and not path.is_dir():
        raise SettingsError(f"{path} is a file, and a folder is wanted there", mend="change `out` or `control`")
    make_folder(path)


def unfinished(out: Path) -> Path | None:
    """The newest run, where it is not finished; None where it is, or where there is none.

    Raises:
        RunDamagedError: its database is damaged.
    """
    last = run_folders(out)[-1:]
    return last[0] if last and not is_finished(last[0]) else None


def is_finished(folder: Path) -> bool:
    """True for a finished run.

    Raises:
        RunDamagedError: its database is damaged.
    """
    database = RunFolder(folder).database
    if not has_begun(database):
        return False
    reader = RunReader.open(database)
    try:
        run = reader.run_or_none()
        return run is not None and run.finished
    finally:
        reader.close()


def is_of_day(folder: Path, day: str) -> bool:
    """True where a run's label is this day."""
    return folder.name.endswith(day)
