"""Frozen dataclasses of settings, read from the TOML files that a person edits.

Unknown keys are refused with the nearest known one, values of a wrong type with the type that is wanted. A field may be
text, a number, a truth value, a date, another dataclass (a table), a tuple of these (a list), or any of them or None.
"""

from __future__ import annotations

import difflib
import sys
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from edgekit.errors import SettingsError

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

Settings = TypeVar("Settings")

_PLAIN: dict[Any, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    str: ((str,), "a text"),
    date: ((date,), "a date, such as 2026-05-31"),
    Path: ((str,), "a path, as a text"),
}


def read_settings(path: Path, kind: type[Settings]) -> Settings:
    """Settings of one kind from a TOML file.

    Raises:
        SettingsError: no such file, no TOML, unknown or missing keys, values of a wrong type or out of range.
    """
    values = read_toml(path)
    try:
        return settings_from(values, kind)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error.what}", mend=error.mend) from error


def read_toml(path: Path) -> dict[str, Any]:
    """Keys and values of a TOML file.

    Raises:
        SettingsError: no such file, or no TOML.
    """
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not TOML: {error}") from error


def settings_from(values: Mapping[str, Any], kind: type[Settings], *, within: str = "") -> Settings:
    """Settings of one kind from keys and values; `within` is the table's name, for messages.

    Raises:
        SettingsError: unknown or missing keys, values of a wrong type or out of range.
    """
    known = {item.name: item for item in fields(kind)}  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.0)[0]
            raise SettingsError(f"unknown key {within + key!r}", mend=f"the nearest known key is {within + near!r}")
    for name, item in known.items():
        if name not in values and item.default is MISSING and item.default_factory is MISSING:
            raise SettingsError(f"the key {within + name!r} is missing")
    hints = get_type_hints(kind)
    return kind(**{key: _convert(within + key, value, hints[key]) for key, value in values.items()})


def _convert(key: str, value: Any, wanted: Any) -> Any:
    """The value as the field's type wants it."""
    origin = get_origin(wanted)
    if origin in (Union, types.UnionType):  # only "X or None": TOML has no null, so a value that is there is an X
        return _convert(key, value, next(choice for choice in get_args(wanted) if choice is not type(None)))
    if origin is tuple:
        if not isinstance(value, list):
            raise SettingsError(f"{key} = {value!r}", mend="write a list")
        return tuple(_convert(key, item, get_args(wanted)[0]) for item in value)
    if origin is Literal:
        if value not in get_args(wanted):
            raise SettingsError(f"{key} = {value!r}", mend=f"use one of: {', '.join(map(str, get_args(wanted)))}")
        return value
    if is_dataclass(wanted):
        if not isinstance(value, dict):
            raise SettingsError(f"{key} = {value!r}", mend=f"write a table [{key}]")
        return settings_from(value, wanted, within=f"{key}.")  # type: ignore[arg-type]
    accepted, name = _PLAIN[wanted]
    if not isinstance(value, accepted) or (isinstance(value, bool) and wanted is not bool):
        raise SettingsError(f"{key} = {value!r}", mend=f"write {name}")
    return wanted(value) if wanted in (float, Path) else value
