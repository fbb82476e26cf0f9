"""Profiles as TOML files: read whole or not at all, written whole or not at all."""

from __future__ import annotations

import difflib
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import tomli_w

from edgekit.atomic import prepare_file, write_atomic
from edgekit.calibration.profile import Profile
from edgekit.errors import ProfileError, SettingsError
from edgekit.settings_file import settings_from

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

SUFFIX = ".toml"
SET_ASIDE_SUFFIX = ".damaged"
"""Added to the name of a profile that was cut."""
OLD_SUFFIX = ".old"
"""Added to the name of a profile that a newer one of the same season replaced."""

HEADER = "# A season's threshold, written by `edgekit calibrate fit`. Dates and notes may be edited.\n"
ENDING = "[end]\ncomplete = true"
"""Last characters of every profile; no newline follows, so that a file which lost even one byte is known."""


class ProfileDamagedError(ProfileError):
    """A profile that lost a part: writing was cut, or the file system left zeros or nothing."""


def load_profile(path_or_name: str | Path, folder: Path | None = None) -> Profile:
    """A profile by its path, or by its season's name in a folder.

    One that is damaged is set aside in a folder of profiles, so that nothing meets it again; a file that was named by
    its path is left where it is.

    Raises:
        ProfileDamagedError: the file lost a part.
        ProfileError: no such profile, or one that breaks the format.
    """
    path = Path(path_or_name)
    if path.suffix == SUFFIX and path.exists():
        return parse_profile(_read(path), str(path))
    return load_from_folder(_path_by_name(str(path_or_name), folder or Path("calibration")))


def load_from_folder(path: Path) -> Profile:
    """A profile that lies in a folder of profiles; one that is damaged is renamed to `<name>.toml.damaged`.

    Raises:
        ProfileDamagedError: the file lost a part; the message says whether it was set aside.
        ProfileError: it cannot be read or breaks the format; it stays where it is.
    """
    try:
        return parse_profile(_read(path), str(path))
    except ProfileDamagedError as error:
        moved = _set_aside(path)
        what = f"{error.what}; set aside as {moved.name}" if moved else error.what
        raise ProfileDamagedError(what, mend=error.mend) from error


def parse_profile(data: bytes, name: str) -> Profile:
    """The profile in the bytes of a file; `name` is for messages.

    Raises:
        ProfileDamagedError: nothing at all, zeros, or a beginning without its end.
        ProfileError: no profile, no TOML, unknown keys, values of a wrong type or out of range.
    """
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    _require_whole(text, name)
    try:
        return settings_from(tomllib.loads(text), Profile)
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(f"{name} is not TOML: {error}") from error
    except SettingsError as error:
        raise ProfileError(f"{name}: {error.what}", mend=error.mend) from error


def format_profile(profile: Profile) -> bytes:
    """The bytes of a profile's file; `parse_profile` gives the same profile back."""
    values = _without_none(asdict(profile))
    end = values.pop("end")
    text = tomli_w.dumps({**values, "end": end}).rstrip("\n")
    return (HEADER + text).encode()


def write_profile(profile: Profile, folder: Path) -> Path:
    """Write `<season>.toml` into a folder; one that is there already is kept as `<season>.toml.old`, where it can be
    read, else as `<season>.toml.damaged`, so that the last good one is not lost.

    Raises:
        StorageError: it cannot be written; the old profile is as it was.
        ProfileError: what is there under that name is no file.
    """
    path = folder / (profile.season + SUFFIX)
    prepare_file(path)
    if path.exists():
        before = _read(path)
        write_atomic(path.with_name(path.name + _suffix_of(before)), before)
    write_atomic(path, format_profile(profile))
    return path


def _require_whole(text: str, name: str) -> None:
    """Pass where the text ends as every profile does; else say what it is."""
    mend = "calibrate again, or copy it anew"
    if not text.strip():
        raise ProfileDamagedError(f"{name} is empty", mend=mend)
    if not text.strip("\0"):
        raise ProfileDamagedError(f"{name} holds only zeros: the power went while it was written", mend=mend)
    if text.rstrip("\n ").endswith(ENDING):
        return
    if text.startswith(HEADER) or HEADER.startswith(text):
        raise ProfileDamagedError(f"{name} was cut: its last lines are missing", mend=mend)
    what = f"{name} is no season profile: neither its first line nor its last ones are there"
    raise ProfileError(what, mend="name one that edgekit calibrate fit wrote")


def _suffix_of(before: bytes) -> str:
    try:
        parse_profile(before, "the profile before")
    except ProfileError:
        return SET_ASIDE_SUFFIX
    return OLD_SUFFIX


def _set_aside(path: Path) -> Path | None:
    """Rename a damaged profile so that it is not met again; None where the folder cannot be written."""
    target = path.with_name(path.name + SET_ASIDE_SUFFIX)
    try:
        return path.rename(target)
    except OSError:
        return None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ProfileError(f"cannot read {path}: {error.strerror}") from error


def _path_by_name(name: str, folder: Path) -> Path:
    path = folder / (name.removesuffix(SUFFIX) + SUFFIX)
    if path.exists():
        return path
    if Path(name).is_file():
        raise ProfileError(f"{name} is no profile by its name", mend=f"name a season, or a file ending in {SUFFIX}")
    if not folder.is_dir():
        raise ProfileError(f"there is no profile {name}, and no folder {folder}", mend="name the folder: --profiles")
    known = sorted(found.stem for found in folder.glob("*" + SUFFIX))
    near = difflib.get_close_matches(name, known, n=1)
    mend = f"it holds {', '.join(known)}" if known else "it holds none: make one with edgekit calibrate fit"
    raise ProfileError(f"there is no profile {name} in {folder}", mend=f"did you mean {near[0]}?" if near else mend)


def _without_none(value: Any) -> Any:
    """TOML has no null: a key without a value is left out."""
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_none(item) for item in value]
    return value
