"""Whatever is written is written under a temporary name, flushed to the disk, and renamed."""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgekit.errors import StorageError

PARTIAL_SUFFIX = ".partial"
"""Ending of a file that is still being written; one that is found later was left by a cut."""

_REASONS = {
    errno.ENOSPC: ("the disk is full", "free some space and start again: what was finished is kept"),
    errno.EDQUOT: ("the disk quota is used up", "free some space and start again: what was finished is kept"),
    errno.EROFS: ("the file system is read-only", "choose another folder, or mount it for writing"),
    errno.EIO: ("the disk reports an error", "check the drive and its cable, then start again"),
    errno.EACCES: ("permission denied", "choose a folder that this user may write to"),
    errno.EPERM: ("permission denied", "choose a folder that this user may write to"),
}


def storage_error(path: Path, error: OSError) -> StorageError:
    """The one line that a person can act on, for an error of the disk."""
    what, mend = _REASONS.get(error.errno or 0, (error.strerror or str(error), None))
    return StorageError(f"cannot write {path}: {what}", mend=mend)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, where they are not there yet.

    Raises:
        StorageError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(folder, error) from error


def prepare_file(path: Path) -> None:
    """Make the folder of a file that will be written: what cannot be written is told before the work, not after.

    Raises:
        StorageError: the path is a folder, or its folder cannot be made or written to.
    """
    _require_no_other(path)
    make_folder(path.parent)
    if not os.access(path.parent, os.W_OK):
        raise storage_error(path, PermissionError(errno.EACCES, "permission denied"))


def _require_no_other(path: Path) -> None:
    """A rename onto a device or a pipe would put a file in its place."""
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "a device or a pipe"
        raise StorageError(f"cannot write {path}: it is {kind}", mend="name a file")


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; when the block ends well, flush it to the disk and rename it to `path`.

    The temporary name keeps the suffix, because writers such as OpenCV choose the format by it.

    Raises:
        StorageError: the disk is full, read-only or failing. The temporary file is removed, `path` is as it was.
    """
    _require_no_other(path)
    temporary = path.with_name(f".{path.stem}.{uuid.uuid4().hex[:8]}{PARTIAL_SUFFIX}{path.suffix}")
    try:
        yield temporary
        flush(temporary)
        temporary.replace(path)
        flush(path.parent)
    except OSError as error:
        raise storage_error(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file whole or not at all.

    Raises:
        StorageError: the disk is full, read-only or failing.
    """
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


def flush(path: Path) -> None:
    """Have a file, or the names in a folder, on the disk before anything else is done.

    Raises:
        OSError: the disk is failing.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
