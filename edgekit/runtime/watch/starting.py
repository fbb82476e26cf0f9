"""Asking systemd for time while a run starts: a TensorRT engine that is built at the first start takes many minutes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from edgekit.runtime.watch.notify import Notifier

LONGEST_START_S = 3600.0
"""After an hour it is no start any more: systemd's own limit (`TimeoutStartSec=`) holds again."""
EVERY_S = 20.0


@contextmanager
def starting_up(
    notifier: Notifier, *, every_s: float = EVERY_S, longest_s: float = LONGEST_START_S
) -> Iterator[Callable[[], None]]:
    """Ask for more time until what is yielded is called, or the block ends.

    Args:
        notifier: the service manager.
        every_s: seconds between two requests; each asks for three times as much.
        longest_s: seconds after which no more is asked.
    """
    done = threading.Event()

    def ask() -> None:
        for _ in range(max(1, round(longest_s / every_s))):
            notifier.extend(3 * every_s)
            if done.wait(every_s):
                return

    thread = threading.Thread(target=ask, name="starting", daemon=True)
    if notifier.active:
        thread.start()
    try:
        yield done.set
    finally:
        done.set()
        if notifier.active:
            thread.join()
