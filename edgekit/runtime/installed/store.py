"""The store of a device.

    models/DIGEST/       a model: its files and item.json
    profiles/DIGEST/     a season profile
    active-model.json    which one is active, and which ones were before
    active-profile.json

A power cut at any moment leaves every item whole or absent and the pointer old or new: items are written under another
name, flushed and renamed, and so is the pointer.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from edgekit.atomic import flush, storage_error
from edgekit.errors import ModelError, SettingsError
from edgekit.runtime.installed.item import ITEM_NAME, WORDS, Item, Kind, check_item, item_to_json, read_item
from edgekit.runtime.installed.look import Look, look_at
from edgekit.runtime.installed.pointer import Pointer, read_pointer, write_pointer

_ARRIVING = ".arriving-"
_LEAVING = ".leaving-"


class Store:
    """Models and profiles by digest.

    Args:
        root: the folder; made when something is installed.

    Raises:
        SettingsError: a file has its name.
    """

    def __init__(self, root: Path) -> None:
        if root.exists() and not root.is_dir():
            raise SettingsError(f"the store {root} is a file", mend="name a folder")
        self.root = root

    def install(self, path: Path) -> Item:
        """Put a model or profile into the store; one that is there already and whole stays.

        Raises:
            SettingsError: no such file, or neither a model nor a profile by its name.
            ModelError: a model that cannot be used.
            ProfileError: a profile that cannot be read.
            StorageError: the disk is full, read-only or failing.
        """
        look = look_at(path)
        with self._writing(look.kind) as shelf:
            item = _copy(look, shelf)
            arrived = shelf / f"{_ARRIVING}{item.digest}"
            place = shelf / item.digest
            if place.exists() and _is_whole(place):
                shutil.rmtree(arrived)
                kept = read_item(place)
                assert kept is not None
                return kept
            if place.exists():  # damaged: taken away under another name, since a folder cannot replace a full one
                place.rename(shelf / f"{_LEAVING}{uuid.uuid4().hex[:8]}")
            arrived.rename(place)
            flush(shelf)
        return item

    def items(self, kind: Kind) -> list[Item]:
        """What is installed of a kind, by date, then by digest."""
        shelf = self._shelf(kind)
        folders = [path for path in shelf.iterdir() if path.name[0] != "."] if shelf.is_dir() else []
        found = [item for folder in folders if (item := read_item(folder)) is not None]
        return sorted(found, key=lambda item: (item.installed_at, item.digest))

    def find(self, kind: Kind, name: str) -> Item:
        """An item by the first digits of its digest, or by the name of its file.

        Raises:
            SettingsError: there is none, or more than one.
        """
        items = self.items(kind)
        found = [item for item in items if item.digest.startswith(name.lower())] or [
            item for item in items if name in (item.file, Path(item.file).stem)
        ]
        if len(found) == 1:
            return found[0]
        word = WORDS[kind]
        if found:
            several = ", ".join(f"{item.short} ({item.file})" for item in found)
            raise SettingsError(f"{name} names {len(found)} {word}s: {several}", mend="give more digits")
        known = ", ".join(f"{item.short} ({item.file})" for item in items) or "none"
        raise SettingsError(f"no {word} {name} is installed", mend=f"installed: {known}")

    def file(self, item: Item) -> Path:
        """The main file of an item."""
        return self._shelf(item.kind) / item.digest / item.file

    def check(self, item: Item) -> None:
        """Read an item again.

        Raises:
            ModelError: a file of it is missing or has changed.
        """
        check_item(item, self._shelf(item.kind) / item.digest)

    def pointer(self, kind: Kind) -> Pointer:
        """What is active, and what was before."""
        return read_pointer(self._pointer(kind))

    def active(self, kind: Kind) -> Item:
        """The active item, read again.

        Raises:
            SettingsError: nothing is active.
            ModelError: it is damaged or gone.
        """
        digest = self.pointer(kind).active
        if digest is None:
            raise SettingsError(
                f"no {WORDS[kind]} is active in {self.root}", mend="edgekit models install FILE --activate"
            )
        return self._whole(kind, digest)

    def activate(self, item: Item) -> None:
        """Make an item the active one, once its digest is seen to be right.

        Raises:
            ModelError: it is damaged.
            StorageError: the disk is full, read-only or failing.
        """
        self.check(item)
        with self._writing(item.kind):
            write_pointer(self._pointer(item.kind), self.pointer(item.kind).moved_to(item.digest))

    def roll_back(self, kind: Kind) -> Item:
        """Make the one active that was active before.

        Raises:
            SettingsError: none was.
            ModelError: it is damaged or gone.
            StorageError: the disk is full, read-only or failing.
        """
        pointer = self.pointer(kind)
        if not pointer.earlier:
            raise SettingsError(f"no {WORDS[kind]} was active before", mend="name one: edgekit models activate NAME")
        back = pointer.moved_back()
        item = self._whole(kind, back.active or "")
        with self._writing(kind):
            write_pointer(self._pointer(kind), back)
        return item

    def remove(self, item: Item) -> None:
        """Delete an item.

        Raises:
            SettingsError: it is active.
            StorageError: the disk is read-only or failing.
        """
        if self.pointer(item.kind).active == item.digest:
            raise SettingsError(
                f"{WORDS[item.kind]} {item.short} is active", mend="activate another one, or roll back, first"
            )
        with self._writing(item.kind) as shelf:
            place = shelf / item.digest
            leaving = shelf / f"{_LEAVING}{uuid.uuid4().hex[:8]}"
            place.rename(leaving)  # first out of the way at one stroke: half an item must not be found
            flush(shelf)
            pointer = self.pointer(item.kind)
            left = tuple(digest for digest in pointer.earlier if digest != item.digest)
            if left != pointer.earlier:
                write_pointer(self._pointer(item.kind), Pointer(pointer.active, left))
            shutil.rmtree(leaving)

    def _whole(self, kind: Kind, digest: str) -> Item:
        item = read_item(self._shelf(kind) / digest)
        if item is None:
            raise ModelError(
                f"{WORDS[kind]} {digest[:12]} is gone from {self.root}", mend="edgekit models list shows what is there"
            )
        self.check(item)
        return item

    @contextmanager
    def _writing(self, kind: Kind) -> Iterator[Path]:
        """The folder of a kind, made and cleared of what a cut has left half done."""
        shelf = self._shelf(kind)
        try:
            shelf.mkdir(parents=True, exist_ok=True)
            for path in shelf.glob(".*"):
                if path.name.startswith((_ARRIVING, _LEAVING)):
                    shutil.rmtree(path)
            yield shelf
        except OSError as error:
            raise storage_error(shelf, error) from error

    def _shelf(self, kind: Kind) -> Path:
        return self.root / f"{kind}s"

    def _pointer(self, kind: Kind) -> Path:
        return self.root / f"active-{kind}.json"


def _copy(look: Look, shelf: Path) -> Item:
    """Copy an item's files into a folder that nobody looks at yet; everything is on the disk when this returns."""
    from edgekit.segment.digest import file_digest

    digests = {path.name: file_digest(path) for path in look.files}
    main = look.files[0]
    folder = shelf / f"{_ARRIVING}{digests[main.name]}"
    folder.mkdir()
    for path in look.files:
        shutil.copyfile(path, folder / path.name)
        flush(folder / path.name)
    size = sum(path.stat().st_size for path in look.files)
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    item = Item(look.kind, digests[main.name], main.name, digests, size, look.described, look.model_id, now)
    (folder / ITEM_NAME).write_bytes(item_to_json(item))
    flush(folder / ITEM_NAME)
    flush(folder)
    check_item(item, folder)  # what was read for the copy must be what was read for the digest
    return item


def _is_whole(folder: Path) -> bool:
    item = read_item(folder)
    if item is None:
        return False
    try:
        check_item(item, folder)
    except ModelError:
        return False
    return True
