"""Where a device keeps what is installed on it."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "EDGEKIT_STORE"
DEVICE_STORE = Path("/var/lib/edgekit/store")
"""Of a device whose installer has made it."""


def default_store() -> Path:
    """The store that is named by EDGEKIT_STORE, that of the device where there is one, else the user's own."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    if _is_there(DEVICE_STORE):
        return DEVICE_STORE
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "edgekit/store"


def _is_there(folder: Path) -> bool:
    """False as well where this user may not look: then it is not this user's store."""
    try:
        return folder.is_dir() and os.access(folder, os.R_OK | os.X_OK)
    except OSError:
        return False
