"""Frozen dataclasses, read from the TOML files that a person edits and from the JSON files that edgekit itself wrote.

Unknown keys are refused with the nearest known one, values of a wrong type with the type that is wanted. A field may be
text, a number, a truth value, a date, another dataclass (a table), a tuple of these (a list), a mapping from texts to
them, or any of them or None.
"""

from __future__ import annotations

import difflib
import sys
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
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
LARGEST_FILE = 1 << 20
"""Bytes of a settings file: what is larger is a picture, a model or a device."""
_LONGEST_SHOWN = 80


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
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path
        raise SettingsError(f"cannot read {path}: {getattr(error, 'strerror', error)}") from error
    if len(data) > LARGEST_FILE:
        raise SettingsError(f"{path} is larger than {LARGEST_FILE} bytes", mend="is it a settings file?")
    try:
        values: dict[str, Any] = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # ValueError: no UTF-8, no TOML, or a number of too many digits
        raise SettingsError(f"{path} is not TOML: {error}") from error
    return values


def settings_from(
    values: Mapping[str, Any], kind: type[Settings], *, within: str = "", others: bool = False
) -> Settings:
    """Settings of one kind from keys and values.

    Args:
        values: as TOML or JSON has them.
        kind: a dataclass.
        within: the table's name, for messages.
        others: pass over keys that the kind does not have, for a file that holds more than is wanted of it.

    Raises:
        SettingsError: unknown or missing keys, values of a wrong type or out of range.
    """
    known = {item.name: item for item in fields(kind)}  # type: ignore[arg-type]
    for key in values:
        if key not in known and not others:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.0)[0]
            raise SettingsError(f"unknown key {within + key!r}", mend=f"the nearest known key is {within + near!r}")
    for name, item in known.items():
        if name not in values and item.default is MISSING and item.default_factory is MISSING:
            raise SettingsError(f"the key {within + name!r} is missing")
    hints = get_type_hints(kind)
    read = {key: value for key, value in values.items() if key in known}
    return kind(**{key: _convert(within + key, value, hints[key], others) for key, value in read.items()})


def _convert(key: str, value: Any, wanted: Any, others: bool) -> Any:
    """The value as the field's type wants it."""
    origin, inner = get_origin(wanted), get_args(wanted)
    if origin in (Union, types.UnionType):  # only "X or None"; TOML has no null
        return None if value is None else _convert(key, value, _not_none(inner), others)
    if origin is tuple:
        if not isinstance(value, list):
            raise SettingsError(f"{key} = {_shown(value)}", mend="write a list")
        if inner[-1] is not Ellipsis and len(value) != len(inner):
            raise SettingsError(f"{key} = {_shown(value)}", mend=f"write a list of {len(inner)} values")
        return tuple(_convert(f"{key}[{number}]", item, inner[0], others) for number, item in enumerate(value))
    if origin is Literal:
        if value not in inner:
            raise SettingsError(f"{key} = {_shown(value)}", mend=f"use one of: {', '.join(map(str, inner))}")
        return value
    if is_dataclass(wanted) or origin in (Mapping, dict):
        if not isinstance(value, dict):
            raise SettingsError(f"{key} = {_shown(value)}", mend=f"write a table [{key}] with keys and values")
        if origin is not None:
            return {name: _convert(f"{key}.{name}", item, inner[1], others) for name, item in value.items()}
        return settings_from(value, wanted, within=f"{key}.", others=others)
    return _plain(key, value, wanted)


def _not_none(choices: tuple[Any, ...]) -> Any:
    return next(choice for choice in choices if choice is not type(None))


def _plain(key: str, value: Any, wanted: Any) -> Any:
    """The value as a plain type; numbers are finite and fit 64 bits, so that no later sum can overflow."""
    accepted, name = _PLAIN[wanted]
    fits = isinstance(value, accepted) and (wanted is bool or not isinstance(value, bool))
    if wanted is date:
        fits = fits and not isinstance(value, datetime)
    elif wanted is Path:
        fits = fits and "\0" not in value
    elif wanted in (int, float):
        fits = fits and abs(value) < 2**63  # false for nan too
    if not fits:
        raise SettingsError(f"{key} = {_shown(value)}", mend=f"write {name}")
    return wanted(value) if wanted in (float, Path) else value


def _shown(value: Any) -> str:
    """A value in a message: one line, cut where it is long."""
    text = "null" if value is None else repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
