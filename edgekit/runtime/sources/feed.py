"""A process that gives frames, read by a thread that keeps the newest."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import IO, NamedTuple, cast

from edgekit.contracts import Image
from edgekit.runtime.sources.framing import Framing, FramingError, Pipe

_KILL_AFTER_S = 1.0
_STDERR_BYTES = 1500
_SAYS_LITTLE = (
    "Failed to ", "ERROR: pipeline doesn't want", "Additional debug info", "../", "system error", "streaming stopped"
)  # fmt: skip
"""Beginnings of lines that GStreamer adds behind the one that tells what is wrong."""
_STATE_CHANGE = "state change failed"


class Newest(NamedTuple):
    """A frame as it came from the process."""

    image: Image
    number: int
    """Frames that came before it in this process."""
    time_s: float
    """Monotonic time of its arrival."""
    device_time_s: float | None
    """Time stamp of camera or stream; None where there is none."""


class Feed:
    """Starts a process and takes frames from its standard output; an old frame gives way to a newer one.

    Args:
        command: the process.
        framing: how its frames come.
        held: frames that may wait to be taken; 1: the newest alone. With a few, a reader that keeps pace and only stops
            for a moment loses none.
        waits: the process waits until a frame was taken, so that none is lost: for films, not for cameras.
    """

    def __init__(self, command: Sequence[str], framing: Framing, *, held: int = 1, waits: bool = False) -> None:
        self._framing = framing
        self._waits = waits
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # so that what the process started itself can be ended with it
        )
        self._words = b""
        self._changed = threading.Condition()
        self._frames: deque[Newest] = deque(maxlen=held)
        self._held = held
        self._ended = False
        self._stopped = False
        self._stopping = threading.Lock()
        self._last_words: tuple[int | None, str] | None = None
        self._threads = [
            threading.Thread(target=work, name="edgekit-feed", daemon=True) for work in (self._read, self._listen)
        ]
        for thread in self._threads:
            thread.start()

    def take(self, timeout_s: float) -> Newest | None:
        """The next frame that is held; None where none came in time or the process ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._frames or self._ended, timeout_s)
            taken = self._frames.popleft() if self._frames else None
            self._changed.notify_all()
            return taken

    @property
    def ended(self) -> bool:
        """True once the process gives no more frames and the last was taken."""
        with self._changed:
            return self._ended and not self._frames

    def stop(self) -> tuple[int | None, str]:
        """End process and thread; return the exit status (None where it had to be killed) and the last words.

        Calling it twice, or from two threads, does no harm.
        """
        with self._stopping:
            if self._last_words is None:
                self._last_words = self._stop()
            return self._last_words

    def _stop(self) -> tuple[int | None, str]:
        status = self._process.poll()
        if status is None and self._ended:
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = self._process.wait(_KILL_AFTER_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        for pipe in (self._process.stdout, self._process.stderr):
            cast("IO[bytes]", pipe).close()
        return status, _telling(self._words.decode(errors="replace"))

    def _read(self) -> None:
        pipe = cast(Pipe, self._process.stdout)
        number = 0
        try:
            with contextlib.suppress(FramingError, OSError, ValueError):
                while (arrival := self._framing.read(pipe)) is not None:
                    with self._changed:
                        if self._waits:
                            self._changed.wait_for(lambda: len(self._frames) < self._held or self._stopped)
                        self._frames.append(Newest(arrival.image, number, time.monotonic(), arrival.device_time_s))
                        self._changed.notify()
                    number += 1
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify()

    def _listen(self) -> None:
        """Keep the end of what the process says; a process that complains all night fills neither memory nor disk."""
        with contextlib.suppress(OSError, ValueError):
            while said := cast("IO[bytes]", self._process.stderr).read(_STDERR_BYTES):
                self._words = (self._words + said)[-_STDERR_BYTES:]


def _telling(words: str) -> str:
    """The last line that tells what is wrong; the last of all where none does."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(_SAYS_LITTLE) and _STATE_CHANGE not in line]
    return (telling or lines or [""])[-1]
