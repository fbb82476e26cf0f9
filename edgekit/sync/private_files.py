"""Files that hold passwords and keys."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

from edgekit.errors import SettingsError
from edgekit.settings_file import read_toml


def check_private(path: Path) -> None:
    """Refuse a file that others may read.

    Raises:
        SettingsError: it cannot be read, or its group or others may read it.
    """
    try:
        mode = path.stat().st_mode
        path.read_bytes()
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror}") from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise SettingsError(f"{path} may be read by others", mend=f"chmod 600 {path}")


def read_options(path: Path | None) -> dict[str, Any]:
    """Options of a target's file system from a TOML file; none where no file is named.

    Raises:
        SettingsError: the file cannot be read, is no TOML, or may be read by others.
    """
    if path is None:
        return {}
    check_private(path)
    return read_toml(path)
