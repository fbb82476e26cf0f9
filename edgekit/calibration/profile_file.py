"""Profiles as TOML files: read whole or not at all, written whole or not at all."""

from __future__ import annotations

import difflib
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import tomli_w

from edgekit.atomic import storage_error, write_atomic
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
    """A profile that does not end as every profile does: writing was cut, or the file system lost a part."""


def load_profile(path_or_name: str | Path, folder: Path | None = None) -> Profile:
    """A profile by its path, or by its season's name in a folder.

    Raises:
        ProfileDamagedError: the file was cut.
        ProfileError: no such profile, or one that breaks the format.
    """
    path = Path(path_or_name)
    if path.suffix != SUFFIX or not path.exists():
        path = _path_by_name(str(path_or_name), folder or Path("calibration"))
    return parse_profile(_read(path), str(path))


def parse_profile(data: bytes, name: str) -> Profile:
    """The profile in the bytes of a file; `name` is for messages.

    Raises:
        ProfileDamagedError: the bytes do not end as a profile does.
        ProfileError: no TOML, unknown keys, values of a wrong type or out of range.
    """
    text = data.decode("utf-8", "replace")
    if not text.replace("\r\n", "\n").rstrip("\n ").endswith(ENDING):
        raise ProfileDamagedError(
            f"{name} was cut: its last lines are missing", mend="calibrate again, or copy it anew"
        )
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
    """Write `<season>.toml` into a folder; one that is there already is kept as `<season>.toml.old`.

    Raises:
        StorageError: it cannot be written; the old profile is as it was.
    """
    path = folder / (profile.season + SUFFIX)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(folder, error) from error
    if path.exists():
        write_atomic(path.with_name(path.name + OLD_SUFFIX), path.read_bytes())
    write_atomic(path, format_profile(profile))
    return path


def set_aside(path: Path) -> Path | None:
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
    known = sorted(found.stem for found in folder.glob("*" + SUFFIX))
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
    mend = f"the nearest season is {near[0]}" if near else "make one with edgekit calibrate fit"
    raise ProfileError(f"there is no profile {name} in {folder}", mend=mend)


def _without_none(value: Any) -> Any:
    """TOML has no null: a key without a value is left out."""
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_none(item) for item in value]
    return value
