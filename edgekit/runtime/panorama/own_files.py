"""Which files of a folder a build wrote itself, so that one which was cut can be done again and nothing else is lost.

Every name is written into `building.json` before its file is, and the note goes with the end of the build.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from edgekit.atomic import PARTIAL_SUFFIX, storage_error, write_atomic
from edgekit.errors import RunFinishedError, RunFolderError
from edgekit.folder_lock import LOCK_NAME
from edgekit.runtime.panorama.report import SUMMARY_NAME
from edgekit.runtime.panorama.segments import INDEX_NAME

NOTE_NAME = "building.json"
_PARTIAL = re.compile(rf"\.(?P<stem>.+)\.[0-9a-f]{{8}}{re.escape(PARTIAL_SUFFIX)}(?P<suffix>\.\w+)")
_NEW = "name a folder that is new or empty"


class OwnFiles:
    """The files of one build in its folder.

    Args:
        folder: of the build; it need not be there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: list[str] = []

    def check(self) -> None:
        """Refuse a folder in which a build must not write.

        Raises:
            RunFinishedError: it holds a finished panorama.
            RunFolderError: it is none, or holds files that no build wrote that was cut.
        """
        if self._folder.exists() and not self._folder.is_dir():
            raise RunFolderError(f"{self._folder} is not a folder", mend=_NEW)
        if not self._folder.exists():
            return
        cut = (self._folder / NOTE_NAME).exists()
        if not cut and any((self._folder / name).exists() for name in (SUMMARY_NAME, INDEX_NAME)):
            raise RunFinishedError(f"{self._folder} holds a finished panorama", mend="name another folder")
        known = {LOCK_NAME, NOTE_NAME, *self._noted()}
        others = sorted(p.name for p in self._folder.iterdir() if p.name not in known and _whole(p.name) not in known)
        if others:
            raise RunFolderError(f"{self._folder} holds other things: {others[0]}", mend=_NEW)

    def clear(self) -> None:
        """Remove what a build that was cut left behind; the folder is locked and was checked.

        Raises:
            StorageError: a file cannot be removed.
        """
        own = self._noted()
        try:
            for path in self._folder.iterdir():
                if path.name in own or _whole(path.name) in (*own, NOTE_NAME):
                    path.unlink()
        except OSError as error:
            raise storage_error(self._folder, error) from error

    def write(self, path: Path, data: bytes) -> None:
        """Write a file of the build whole or not at all, after its name.

        Raises:
            StorageError: the disk is full, read-only or failing.
        """
        if path.name not in self._names:  # the index is written anew with every segment
            self._names.append(path.name)
            write_atomic(self._folder / NOTE_NAME, json.dumps({"files": self._names}).encode())
        write_atomic(path, data)

    def finish(self) -> None:
        """The build is complete: the note has served.

        Raises:
            StorageError: it cannot be removed.
        """
        try:
            (self._folder / NOTE_NAME).unlink(missing_ok=True)
        except OSError as error:
            raise storage_error(self._folder, error) from error

    def _noted(self) -> tuple[str, ...]:
        """Names in the note; none where there is no note.

        Raises:
            RunFolderError: it is no note of a build.
        """
        path = self._folder / NOTE_NAME
        try:
            names = json.loads(path.read_bytes())["files"]
            return tuple(str(Path(name).name) for name in names)
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise RunFolderError(f"{self._folder} holds other things: {NOTE_NAME}", mend=_NEW) from error


def _whole(name: str) -> str | None:
    """The file that a half written one was to become; None for any other name."""
    match = _PARTIAL.fullmatch(name)
    return None if match is None else f"{match['stem']}{match['suffix']}"
