"""`manifest.json` at the target: whose files lie there, and the digest of each.

It is written first, with `complete` false, so that two runs of one name cannot be mixed; and last, with everything.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from edgekit.errors import SyncError
from edgekit.sync.files import FileEntry

MANIFEST_NAME = "manifest.json"
SCHEMA = 1


@dataclass(frozen=True)
class Manifest:
    """What lies at the target."""

    run: str
    """Name of the run's folder."""
    identity: str
    """Which run it is, whatever its folder is called."""
    complete: bool
    """True where the run is finished and all of it is there."""
    files: tuple[tuple[str, int, str], ...]
    """Path, bytes and SHA-256 of each file."""

    def to_json(self) -> bytes:
        """The file's content."""
        files = [{"path": path, "bytes": size, "sha256": sha256} for path, size, sha256 in self.files]
        head = {"schema": SCHEMA, "run": self.run, "identity": self.identity, "complete": self.complete}
        return json.dumps({**head, "files": files}, indent=1).encode()


def manifest_of(run: str, identity: str, entries: Iterable[FileEntry], *, complete: bool) -> Manifest:
    """The manifest of files, in order of their paths."""
    files = sorted((entry.path, entry.size_bytes, entry.sha256) for entry in entries)
    return Manifest(run, identity, complete, tuple(files))


def parse_manifest(content: bytes, where: str) -> Manifest:
    """Read a manifest.

    Raises:
        SyncError: it is none, or of a version that this edgekit does not know.
    """
    try:
        values = json.loads(content)
        files = tuple((item["path"], item["bytes"], item["sha256"]) for item in values["files"])
        if values["schema"] != SCHEMA:
            raise SyncError(f"{where} has schema {values['schema']}", mend="use the edgekit that wrote it")
        return Manifest(values["run"], values["identity"], values["complete"], files)
    except (ValueError, KeyError, TypeError) as error:
        raise SyncError(f"{where} is no manifest of edgekit", mend="move it away, or choose another target") from error
