"""One installed model or profile: its files, their digests, and what it is."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from edgekit.errors import ModelError, SettingsError, StorageError
from edgekit.settings_file import settings_from

Kind = Literal["model", "profile"]
ITEM_NAME = "item.json"
SHORT = 12
"""Digits of a digest that are shown; fewer may be given, where they name one item."""


@dataclass(frozen=True)
class Item:
    """What was installed.

    Its name is the SHA-256 of its main file; the folder that holds it bears that name.
    """

    kind: Kind
    digest: str
    file: str
    """Name of the main file: a graph, an engine or a profile."""
    files: dict[str, str]
    """Every file by name with its SHA-256; the main file among them."""
    size_bytes: int
    described: str
    """In words: family and classes of a model, season of a profile."""
    model_id: str | None
    """Of the model, or that a profile was calibrated for."""
    installed_at: str
    """By the wall clock: a label."""

    @property
    def short(self) -> str:
        """The digits that a person reads."""
        return self.digest[:SHORT]


WORDS: MappingProxyType[Kind, str] = MappingProxyType({"model": "model", "profile": "season profile"})


def item_to_json(item: Item) -> bytes:
    """What `item.json` holds."""
    return json.dumps(asdict(item), indent=2).encode()


def read_item(folder: Path) -> Item | None:
    """The item in a folder; None where there is none or its description is damaged.

    Raises:
        StorageError: the disk cannot be read.
    """
    try:
        item = settings_from(dict(json.loads((folder / ITEM_NAME).read_bytes())), Item)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"cannot read {folder / ITEM_NAME}: {error.strerror}") from error
    except (ValueError, TypeError, SettingsError):
        return None
    return item if item.digest == folder.name else None


def check_item(item: Item, folder: Path) -> None:
    """Read every file of an item again.

    Raises:
        ModelError: a file is missing or has another digest than when it was installed.
    """
    from edgekit.segment.digest import file_digest

    for name, digest in item.files.items():
        try:
            found = file_digest(folder / name)
        except OSError as error:
            raise ModelError(
                f"{WORDS[item.kind]} {item.short}: {name} cannot be read ({error.strerror})", mend=_MEND
            ) from error
        if found != digest:
            raise ModelError(f"{WORDS[item.kind]} {item.short} is damaged: {name} has changed", mend=_MEND)


_MEND = "install it again: edgekit models install FILE"
