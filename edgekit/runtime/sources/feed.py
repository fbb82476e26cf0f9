"""A process that gives frames, read by a thread that keeps the newest one."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from typing import BinaryIO, NamedTuple, cast

from edgekit.contracts import Image
from edgekit.runtime.sources.framing import Framing, FramingError

_KILL_AFTER_S = 1.0
_STDERR_BYTES = 400


class Newest(NamedTuple):
    """A frame as it came from the process."""

    image: Image
    number: int
    """Frames that came before it in this process."""
    time_s: float
    """Monotonic time of its arrival."""


class Feed:
    """Starts a process and takes frames from its standard output; an old frame gives way to a newer one.

    Args:
        command: the process.
        framing: how its frames come.
    """

    def __init__(self, command: Sequence[str], framing: Framing) -> None:
        self._framing = framing
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `stop`
        self._process = subprocess.Popen(
            list(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._said
        )
        self._changed = threading.Condition()
        self._newest: Newest | None = None
        self._ended = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def take(self, timeout_s: float) -> Newest | None:
        """The newest frame that was not taken yet; None where none came in time or the process ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._newest is not None or self._ended, timeout_s)
            newest, self._newest = self._newest, None
            return newest

    @property
    def ended(self) -> bool:
        """True once the process gives no more frames and the last was taken."""
        with self._changed:
            return self._ended and self._newest is None

    def stop(self) -> tuple[int | None, str]:
        """End process and thread; return the exit status (None where it had to be killed) and the last words."""
        status = self._process.poll()
        if status is None and self._ended:
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = self._process.wait(_KILL_AFTER_S)
        if status is None:
            self._process.kill()
            self._process.wait()
        self._thread.join()
        assert self._process.stdout is not None
        self._process.stdout.close()
        with self._said:
            self._said.seek(0)
            words = self._said.read()[-_STDERR_BYTES:].decode(errors="replace").strip()
        return status, words.splitlines()[-1] if words else ""

    def _read(self) -> None:
        pipe = cast(BinaryIO, self._process.stdout)
        number = 0
        with contextlib.suppress(FramingError, OSError, ValueError):
            while (image := self._framing.read(pipe)) is not None:
                with self._changed:
                    self._newest = Newest(image, number, time.monotonic())
                    self._changed.notify()
                number += 1
        with self._changed:
            self._ended = True
            self._changed.notify()
