"""A place that results are copied to: a folder, SFTP, an object store, or whatever else fsspec knows."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from edgekit.atomic import PARTIAL_SUFFIX
from edgekit.errors import MissingDependencyError, SettingsError, SyncError
from edgekit.sync.files import CHUNK_BYTES, FileEntry, chunks_of
from edgekit.sync.patience import DigestMismatchError

OBJECT_STORES = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az"})
"""There a file appears whole or not at all, and a rename would be a copy."""
_SFTP = frozenset({"sftp", "ssh"})
_AT_A_HOST = OBJECT_STORES | _SFTP | {"ftp", "smb"}
_EXTRA = 'install it with: pip install "edgekit[sync]"'

Seen = Callable[[int], None]
"""Is told the number of bytes that went."""


class Target:
    """Files of runs at another place.

    Nothing is opened before it is needed. Methods raise what the file system raises; `patience.patiently` sorts it.

    Args:
        url: a folder, or an fsspec URL.
        options: what the file system's class takes beside the URL: keys, endpoints.

    Raises:
        SettingsError: no such kind of URL, or one without a host.
        MissingDependencyError: its package is not installed.
    """

    def __init__(self, url: str, options: Mapping[str, Any] | None = None) -> None:
        self._url, self._options = url, dict(options or {})
        self.protocol = url.partition("://")[0].lower() if "://" in url else "file"
        self.name = without_password(url) if "://" in url else str(Path(url).resolve())
        self._whole_puts = self.protocol in OBJECT_STORES
        _check_protocol(self.protocol, url)
        self._opened: tuple[Any, str] | None = None

    @property
    def folder(self) -> Path | None:
        """The folder, where the target is one on this machine."""
        if self.protocol not in ("file", "local"):
            return None
        return Path(self._url.removeprefix("file://").removeprefix("local://")).resolve()

    def reconnect(self) -> None:
        """Forget the connection; the next step opens a new one."""
        self._opened = None

    def check_place(self) -> None:
        """Refuse a folder that is not there: it would be a drive that is not mounted.

        Raises:
            SyncError: it is not there.
        """
        if not self._whole_puts and not self._fs.isdir(self._root):
            mend = "mount the drive, or make the folder"
            raise SyncError(f"{self.name} is not there", mend=mend)

    def read(self, path: str) -> bytes | None:
        """A small file's content; None where it is not there."""
        try:
            content: bytes = self._fs.cat_file(self._at(path))
        except FileNotFoundError:
            return None
        return content

    def write(self, path: str, content: bytes) -> None:
        """Write a small file whole or not at all.

        Raises:
            DigestMismatchError: what arrived is something else.
        """
        place = self._at(path) if self._whole_puts else self._partial(path)
        if self._whole_puts:
            self._fs.pipe_file(place, content)
        else:
            self._make_folder(path)
            with self._fs.open(place, "wb") as handle:
                handle.write(content)
                _to_disk(handle)
        if self._fs.cat_file(place) != content:
            raise DigestMismatchError(f"{path} arrived changed")
        if not self._whole_puts:
            self._fs.mv(place, self._at(path))

    def send(self, local: Path, path: str, entry: FileEntry, seen: Seen) -> None:
        """Copy a file to a temporary name, compare it, and give it its name; a copy that was cut is gone on with.

        Raises:
            DigestMismatchError: what arrived is not what was read when the digest was taken; the copy is removed.
        """
        if self._whole_puts:
            self._fs.put_file(str(local), self._at(path))
            self._fs.invalidate_cache()
            if not self.holds(path, entry):
                raise DigestMismatchError(f"{path} arrived changed")
            seen(entry.size_bytes)
            return
        self._make_folder(path)
        partial = self._partial(path)
        start = self._size(partial) or 0
        if start > entry.size_bytes:
            start = 0
        seen(start)
        with self._fs.open(partial, "ab" if start else "wb") as handle:
            _pipeline(handle)
            for chunk in chunks_of(local, start=start, seen=seen):
                handle.write(chunk)
            _to_disk(handle)
        if self._digest(partial) != entry.sha256:
            self._fs.rm_file(partial)
            raise DigestMismatchError(f"{path} arrived changed")
        self._fs.mv(partial, self._at(path))

    def holds(self, path: str, entry: FileEntry) -> bool:
        """True where the file is there with the same bytes.

        An object store's ETag that equals the MD5 of the file shows it; all else is read back.
        """
        try:
            info = self._fs.info(self._at(path))
        except FileNotFoundError:
            return False
        if info["size"] != entry.size_bytes:
            return False
        return str(info.get("ETag", "")).strip('"') == entry.md5 or self._digest(self._at(path)) == entry.sha256

    def tidy(self, path: str) -> None:
        """Remove what a cut left beside a file that is there."""
        if not self._whole_puts and self._size(self._partial(path)) is not None:
            self._fs.rm_file(self._partial(path))

    @property
    def _fs(self) -> Any:
        return self._open()[0]

    @property
    def _root(self) -> str:
        return self._open()[1]

    def _open(self) -> tuple[Any, str]:
        if self._opened is None:
            import fsspec

            if self.protocol in _SFTP:
                from edgekit.sync.sftp import open_sftp

                self._opened = open_sftp(self._url, self._options)
            else:
                url = self._url if "://" in self._url else str(Path(self._url).resolve())
                options = {"skip_instance_cache": True, "use_listings_cache": False, **self._options}
                file_system, root = fsspec.core.url_to_fs(url, **options)
                self._opened = file_system, root.rstrip("/")
        return self._opened

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}"

    def _partial(self, path: str) -> str:
        folder, _, name = self._at(path).rpartition("/")
        return f"{folder}/.{name}{PARTIAL_SUFFIX}"

    def _make_folder(self, path: str) -> None:
        self._fs.makedirs(self._at(path).rpartition("/")[0], exist_ok=True)

    def _size(self, place: str) -> int | None:
        try:
            size: int = self._fs.info(place)["size"]
        except FileNotFoundError:
            return None
        return size

    def _digest(self, place: str) -> str:
        digest = hashlib.sha256()
        with self._fs.open(place, "rb") as handle:
            for chunk in _pieces(handle):
                digest.update(chunk)
        return digest.hexdigest()


def without_password(url: str) -> str:
    """The URL as it may be shown and stored."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    return urlunsplit(parts._replace(netloc=f"{parts.username}@{parts.netloc.rpartition('@')[2]}"))


def _check_protocol(protocol: str, url: str) -> None:
    from fsspec.registry import get_filesystem_class

    mend = "name a folder, sftp://host/folder or s3://bucket/folder"
    try:
        get_filesystem_class(protocol)
    except ValueError as error:
        raise SettingsError(f"{without_password(url)}: no such kind of target", mend=mend) from error
    except ImportError as error:
        raise MissingDependencyError(f"{protocol}:// needs a package: {error}", mend=_EXTRA) from error
    if protocol == "memory":
        raise SettingsError(f"{url} keeps nothing", mend=mend)
    if protocol in _AT_A_HOST and not urlsplit(url).netloc:
        raise SettingsError(f"{url} names no host or bucket", mend=mend)
    if not url:
        raise SettingsError("the target is empty", mend=mend)


def _pieces(handle: Any) -> Iterator[bytes]:
    if hasattr(handle, "prefetch"):  # paramiko: otherwise each piece waits for the one before
        handle.prefetch()
    while chunk := handle.read(CHUNK_BYTES):
        yield chunk


def _pipeline(handle: Any) -> None:
    if hasattr(handle, "set_pipelined"):
        handle.set_pipelined(True)


def _to_disk(handle: Any) -> None:
    """Flush to the drive, where it is one of this machine: it may be pulled out next."""
    handle.flush()
    if hasattr(handle, "fileno"):
        try:
            os.fsync(handle.fileno())
        except (OSError, AttributeError, NotImplementedError):
            return
