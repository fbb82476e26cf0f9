"""Signals of a live run: the first ends it in an orderly way, the second at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stopping(stop: threading.Event) -> Iterator[None]:
    """Within the block SIGTERM and SIGINT set `stop`; one more ends the process: the next start repairs.

    For the main thread alone.
    """

    def ask(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()

    before = {number: signal.signal(number, ask) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
