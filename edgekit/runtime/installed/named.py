"""From what a person names to the file: a path, or `active`."""

from __future__ import annotations

from pathlib import Path

from edgekit.runtime.default_model import default_model_path
from edgekit.runtime.installed.item import Kind
from edgekit.runtime.installed.place import default_store
from edgekit.runtime.installed.store import Store

ACTIVE = "active"
"""In place of a path: what is active in the device's store."""


def named_model(name: Path | str | None) -> Path:
    """The model that is meant: a path, the active one, or the one that comes along where nothing is named.

    Raises:
        SettingsError: none is active.
        ModelError: the active one is damaged, or this edgekit comes without a model.
    """
    if name is None:
        return default_model_path()
    return _active("model") if str(name) == ACTIVE else Path(name)


def named_profile(name: str | None) -> str | None:
    """The season that is meant: as it was named, or the path of the active profile; None where nothing is named.

    Raises:
        SettingsError: none is active.
        ModelError: the active one is damaged.
    """
    return str(_active("profile")) if name == ACTIVE else name


def _active(kind: Kind) -> Path:
    store = Store(default_store())
    return store.file(store.active(kind))
