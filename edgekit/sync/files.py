"""The files of a run that are sent, and their digests."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from edgekit.atomic import PARTIAL_SUFFIX
from edgekit.errors import StorageError

STATE_NAME = "sync.json"
LOCK_NAME = ".sync.lock"
CHUNK_BYTES = 1 << 20

_OWN = frozenset({STATE_NAME, LOCK_NAME, ".lock"})
_JOURNALS = ("-wal", "-shm", "-journal")
_GROWING = frozenset({"segments.json"})
"""Written anew while a row lasts."""


@dataclass(frozen=True)
class FileEntry:
    """A file of a run as it was when it was read."""

    path: str
    """Relative to the run's folder, with forward slashes."""
    size_bytes: int
    mtime_ns: int
    sha256: str
    md5: str
    """What object stores call the ETag of a file that was sent in one piece."""

    @property
    def seen(self) -> tuple[int, int]:
        """Size in bytes and time of change, ns: where they are the same, the file is taken to be."""
        return self.size_bytes, self.mtime_ns


def run_files(run: Path) -> Iterator[Path]:
    """Every file of a run that is sent, in order of its path: locks, journals and half written files are left out."""
    for path in sorted(run.rglob("*")):
        half = path.name.startswith(".") and PARTIAL_SUFFIX in path.name
        if path.is_symlink() or not path.is_file() or path.name in _OWN or path.name.endswith(_JOURNALS) or half:
            continue
        yield path


def finished_files(run: Path) -> Iterator[Path]:
    """The files of an unfinished run that will not change any more: its panorama segments."""
    for path in run_files(run):
        if path.relative_to(run).parts[0] == "panorama" and path.name not in _GROWING:
            yield path


def read_entry(run: Path, path: Path, known: Mapping[str, FileEntry]) -> FileEntry:
    """Digests of a file; taken from `known` where size and time are those of an earlier reading.

    Raises:
        StorageError: the file cannot be read.
    """
    name = path.relative_to(run).as_posix()
    try:
        stat = path.stat()
        earlier = known.get(name)
        if earlier is not None and earlier.seen == (stat.st_size, stat.st_mtime_ns):
            return earlier
        sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
        for chunk in chunks_of(path):
            sha256.update(chunk)
            md5.update(chunk)
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from error
    return FileEntry(name, stat.st_size, stat.st_mtime_ns, sha256.hexdigest(), md5.hexdigest())


def chunks_of(path: Path, *, start: int = 0, seen: Callable[[int], None] | None = None) -> Iterator[bytes]:
    """A file's bytes from `start` on, in pieces of a mebibyte; `seen` is told the length of each."""
    with path.open("rb") as handle:
        handle.seek(start)
        while chunk := handle.read(CHUNK_BYTES):
            yield chunk
            if seen is not None:
                seen(len(chunk))
