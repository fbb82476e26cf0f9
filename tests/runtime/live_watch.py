"""A reader of a live source in a thread of its own, so that a test can look at it from outside."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable

import psutil

from edgekit.contracts import Frame
from edgekit.runtime.sources import LiveSource


class Watch:
    """Reads a source; use as a context."""

    def __init__(self, source: LiveSource, *, work_s: float = 0.0) -> None:
        self.source = source
        self.numbers: list[int] = []
        self.lags_s: list[float] = []
        self.last: Frame | None = None
        self.error: Exception | None = None
        self._work_s = work_s
        self._thread = threading.Thread(target=self._read)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.source.close()
        self._thread.join(10)
        assert not self._thread.is_alive()

    def frames(self, count: int, *, within_s: float) -> None:
        """Wait until so many frames were read."""
        wait(lambda: len(self.numbers) >= count, within_s, lambda: f"{len(self.numbers)} frames, {self.source.faults}")

    def trouble(self, *, within_s: float) -> float:
        """Seconds until the source says that something is wrong."""
        began_s = time.monotonic()
        wait(lambda: self.source.trouble is not None, within_s, lambda: "nothing was noticed")
        return time.monotonic() - began_s

    def _read(self) -> None:
        try:
            for frame in self.source:
                self.lags_s.append(time.monotonic() - frame.time_s)
                self.last = frame
                self.numbers.append(frame.sequence)
                time.sleep(self._work_s)
        except Exception as error:
            self.error = error


def wait(true: Callable[[], bool], within_s: float, say: Callable[[], str]) -> None:
    end_s = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < end_s, say()
        time.sleep(0.02)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def settle(threads: int) -> None:
    """No process and no thread is left behind."""
    wait(lambda: not psutil.Process().children() and threading.active_count() <= threads, 5, lambda: "left behind")
