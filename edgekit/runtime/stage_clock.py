"""Where the time of a run goes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Item = TypeVar("Item")
_END = object()


class StageClock:
    """Adds up the time of named stages. A stage within a stage stops the outer one, so no time is counted twice.

    Each thread has its own stages; where two threads work at once their sum is more than the time that passed.

    Args:
        told: called with the name and the seconds of each pass of a stage; None: nobody wants to know.
    """

    def __init__(self, told: Callable[[str, float], None] | None = None) -> None:
        self._told = told
        self._lock = threading.Lock()
        self._spent_s: dict[str, float] = {}
        self._threads = threading.local()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time of the block for `name`."""
        running: list[list[float]] = self._threads.__dict__.setdefault("running", [])
        inner_s = [0.0]  # time of the stages within this one
        running.append(inner_s)
        started_s = time.perf_counter()
        try:
            yield
        finally:
            total_s = time.perf_counter() - started_s
            running.pop()
            with self._lock:
                self._spent_s[name] = self._spent_s.get(name, 0.0) + total_s - inner_s[0]
            if self._told is not None:
                self._told(name, total_s - inner_s[0])
            if running:
                running[-1][0] += total_s

    def each(self, name: str, items: Iterable[Item]) -> Iterator[Item]:
        """Pass the items on; the time that it takes to get them counts for `name`."""
        iterator = iter(items)
        while True:
            with self.stage(name):
                item = next(iterator, _END)
            if item is _END:
                return
            yield item  # type: ignore[misc]

    def spent_ms(self) -> dict[str, float]:
        """Milliseconds of each stage, in the order in which they first ended."""
        return {name: seconds * 1e3 for name, seconds in self._spent_s.items()}
