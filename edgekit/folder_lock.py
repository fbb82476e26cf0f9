"""One writing process a folder: a lock that the system lets go of when the process ends, however it ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgekit.atomic import make_folder, storage_error
from edgekit.errors import RunFolderError

LOCK_NAME = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for this process; it is made where it is missing. The empty `.lock` stays behind.

    Raises:
        RunFolderError: another process is writing there.
        StorageError: the folder cannot be made or written.
    """
    make_folder(folder)
    try:
        handle = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise storage_error(folder, error) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            mend = "wait for it, stop it, or choose another --out"
            raise RunFolderError(f"another edgekit process is writing in {folder}", mend=mend) from error
        yield
    finally:
        os.close(handle)
