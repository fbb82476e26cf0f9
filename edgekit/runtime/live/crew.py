"""The threads of a live run: named, and none of them can die unnoticed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

_log = logging.getLogger(__name__)


class Crew:
    """Starts threads; the first error of any of them stops the run and is raised by whoever waits for them.

    Args:
        stop: set when the run is to end, by whomever.
    """

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._threads: list[threading.Thread] = []
        self._failure: BaseException | None = None
        self._lock = threading.Lock()

    def start(self, name: str, work: Callable[[], None]) -> None:
        """A thread that does some work until it is done."""
        thread = threading.Thread(target=self._guarded, args=(name, work), name=f"edgekit-{name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def join(self) -> None:
        """Wait until every thread of this crew has ended."""
        for thread in self._threads:
            thread.join()

    def check(self) -> None:
        """Raise what made a thread fail."""
        if self._failure is not None:
            raise self._failure

    @property
    def failed(self) -> bool:
        """True where a thread failed."""
        return self._failure is not None

    def _guarded(self, name: str, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # handed to the thread that waits
            with self._lock:
                self._failure = self._failure or error
            _log.debug("thread %s ended", name, exc_info=error)
            self._stop.set()
