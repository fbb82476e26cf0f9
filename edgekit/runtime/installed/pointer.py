"""Which item is active, and which ones were before: one small file, written whole or not at all."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from edgekit.atomic import write_atomic
from edgekit.errors import SettingsError
from edgekit.settings_file import settings_from

REMEMBERED = 10
"""Earlier items that can be gone back to."""


@dataclass(frozen=True)
class Pointer:
    """The active item and its forerunners."""

    active: str | None = None
    """Digest; None: nothing was activated."""
    earlier: tuple[str, ...] = ()
    """Digests, the newest first."""

    def moved_to(self, digest: str) -> Pointer:
        """The same after another item was activated."""
        if digest == self.active:
            return self
        before = (self.active, *self.earlier) if self.active else self.earlier
        return Pointer(digest, tuple(item for item in before if item != digest)[:REMEMBERED])

    def moved_back(self) -> Pointer:
        """The same after going back by one; the item that is left is not remembered."""
        return Pointer(self.earlier[0], self.earlier[1:])


def read_pointer(path: Path) -> Pointer:
    """The pointer in a file; nothing active where there is none or it is damaged."""
    try:
        return settings_from(dict(json.loads(path.read_bytes())), Pointer)
    except (OSError, ValueError, TypeError, SettingsError):
        return Pointer()


def write_pointer(path: Path, pointer: Pointer) -> None:
    """Write a pointer.

    Raises:
        StorageError: the disk is full, read-only or failing.
    """
    write_atomic(path, (json.dumps(asdict(pointer), indent=2) + "\n").encode())
