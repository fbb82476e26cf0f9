"""How checks look at the machine: files below a root, and programs; tests give others."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from edgekit.environment import Environment, read_environment

COMMAND_S = 120.0
"""Longest wait for a program; importing a large package from a cold SD card takes tens of seconds, and an import that
merely waits must not pass for a broken one."""


@dataclass(frozen=True)
class Answer:
    """What a program said."""

    code: int | None
    """Exit code, negative for a signal; None: the program is not there or did not end."""
    output: str = ""
    errors: str = ""

    @property
    def good(self) -> bool:
        """True where it ended well."""
        return self.code == 0

    @property
    def killed_by(self) -> str | None:
        """Name of the signal that it died of."""
        if self.code is None or self.code >= 0:
            return None
        try:
            return signal.Signals(-self.code).name
        except ValueError:
            return f"signal {-self.code}"


class Probes:
    """This machine.

    Args:
        root: the file system's root.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    def environment(self) -> Environment:
        """Processor, board and versions; imports nothing that could crash."""
        return read_environment(root=self.root, ask_onnxruntime=False)

    def command(self, words: Sequence[str]) -> Answer:
        """Run a program; nothing is installed or changed by those that the checks call."""
        try:
            done = subprocess.run(list(words), capture_output=True, text=True, timeout=COMMAND_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return Answer(None, errors=str(error))
        return Answer(done.returncode, done.stdout, done.stderr)

    def python(self, code: str) -> Answer:
        """Run a line of Python in a process of its own, which may crash."""
        return self.command([sys.executable, "-c", code])

    def text(self, path: str) -> str | None:
        """A small file below the root, without the white space around; None where it cannot be read."""
        try:
            return (self.root / path).read_text("utf-8", "replace").strip("\0 \n")
        except OSError:
            return None

    def paths(self, pattern: str) -> list[Path]:
        """Files and folders below the root, by a pattern."""
        return sorted(self.root.glob(pattern))

    def free_bytes(self, folder: Path) -> int:
        """Free space of the disk that holds a folder."""
        return shutil.disk_usage(folder).free

    def may_write(self, path: Path) -> bool:
        """True where this user may write."""
        return os.access(path, os.W_OK)

    def may_read(self, path: Path) -> bool:
        """True where this user may read."""
        return os.access(path, os.R_OK)

    def answers(self, host: str, port: int) -> bool:
        """True where something listens."""
        try:
            with socket.create_connection((host, port), timeout=3):
                return True
        except OSError:
            return False

    def wall_s(self) -> float:
        """Wall clock, seconds since 1970."""
        return time.time()
