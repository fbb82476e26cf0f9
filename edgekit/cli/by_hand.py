"""A camera has no end of its own: Ctrl-C, SIGTERM or a time ends the row, and what was seen of it is kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from edgekit.contracts import FrameSource


@contextmanager
def ended_by_hand(source: FrameSource, seconds: float | None) -> Iterator[None]:
    """While frames of a camera are read, let a person or a time end them; recordings are left alone.

    Raises:
        SettingsError: what is no time.
    """
    from edgekit.runtime.sources import LiveSource

    if not isinstance(source, LiveSource):
        if seconds is not None:
            raise typer.BadParameter("--seconds is for cameras: a recording has its own end")
        yield
        return

    def stop(*_: Any) -> None:
        """In a thread of its own: the signal may have come while the source is being closed."""
        threading.Thread(target=source.close, daemon=True).start()

    if seconds is not None:
        source.end_after(seconds)
    former = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
