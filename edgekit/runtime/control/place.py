"""Where the socket of a run lies, and how it is reached."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

SOCKET_NAME = "control.sock"


def run_socket(folder: Path) -> Path:
    """The socket of a run folder or state folder."""
    return folder / SOCKET_NAME


def usual_sockets(environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Where a run is looked for when none is named, the likeliest first.

    That is the folder that systemd gives to the service (`RuntimeDirectory=edgekit`), then the user's own.
    """
    named = environment.get("RUNTIME_DIRECTORY", "").split(":")[0]
    own = environment.get("XDG_RUNTIME_DIR")
    folders = [Path(named)] if named else []
    folders.append(Path("/run/edgekit"))
    if own:
        folders.append(Path(own) / "edgekit")
    return tuple(run_socket(folder) for folder in dict.fromkeys(folders))


def usual_socket(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Where a run puts its socket when its site file names no place: None where the system gives it no such folder."""
    named, own = environment.get("RUNTIME_DIRECTORY", "").split(":")[0], environment.get("XDG_RUNTIME_DIR")
    if named:
        return run_socket(Path(named))
    return run_socket(Path(own) / "edgekit") if own else None


@contextmanager
def short_address(path: Path) -> Iterator[str]:
    """An address of the socket that is never too long: the kernel takes 107 bytes, run folders may be deeper.

    Raises:
        OSError: the folder is not there.
    """
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
