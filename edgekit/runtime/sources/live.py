"""Frames of a camera that runs: the newest one, what was dropped counted, outages noticed and mended."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

import numpy as np

from edgekit.contracts import Frame, Image
from edgekit.errors import SourceError
from edgekit.runtime.sources.feed import Feed, Newest

_TICK_S = 0.1


@dataclass(frozen=True)
class LiveSettings:
    """How long a camera may be silent, and how it is taken up again."""

    stall_s: float = 2.5
    """Seconds without a frame, or with the same frame bit for bit, after which the camera is started again."""
    start_s: float = 10.0
    """Seconds that a camera may take to give its first frame."""
    first_pause_s: float = 0.5
    """Pause before the second attempt; it doubles from attempt to attempt."""
    longest_pause_s: float = 8.0
    give_up_s: float | None = None
    """Seconds without a frame after which the stream is over; None: never."""
    may_end: bool = False
    """True where the stream has an end of its own (a file at real-time pace): then its end is not an outage."""


class LiveSource:
    """A camera as a source. Numbers go on through outages, so a gap in them is a gap in the pictures.

    Args:
        name: what a person calls the camera.
        start: starts the process that gives its frames.
        settings: patience.
        turn: applied to every picture (mounting, mirror); None: as it comes.
    """

    def __init__(
        self,
        name: str,
        start: Callable[[], Feed],
        *,
        settings: LiveSettings | None = None,
        turn: Callable[[Image], Image] | None = None,
    ) -> None:
        self._name = name
        self._start = start
        self._settings = settings or LiveSettings()
        self._turn = turn
        self._feed: Feed | None = None
        self._closed = False
        self._seen = 0
        self._dropped = 0
        self._outages: dict[str, int] = {}

    @property
    def name(self) -> str:
        """What a person calls the camera."""
        return self._name

    @property
    def length(self) -> int | None:
        """Nobody can tell."""
        return None

    @property
    def dropped(self) -> int:
        """Frames that gave way to newer ones because they were not fetched in time."""
        return self._dropped

    @property
    def faults(self) -> tuple[str, ...]:
        """Outages so far, a line a kind with how often: a night without a camera stays one line."""
        lines = [f"{reason} ({count} times)" if count > 1 else reason for reason, count in self._outages.items()]
        return (*lines, f"{self._dropped} frames were dropped, too late to be used") if self._dropped else tuple(lines)

    def __iter__(self) -> Iterator[Frame]:
        """Frames until the camera is closed, its stream has its end, or it was silent for too long.

        Raises:
            SourceError: the camera never gave a frame and is given up.
        """
        pause_s, silent_since = self._settings.first_pause_s, time.monotonic()
        try:
            while not self._closed:
                self._feed = self._start()
                before = self._seen
                reason = yield from self._run(self._feed)
                status, words = self._feed.stop()
                self._feed = None
                if reason is None and self._settings.may_end and status == 0:
                    return
                if self._seen > before:
                    pause_s, silent_since = self._settings.first_pause_s, time.monotonic()
                self._note(reason or f"the stream ended{f': {words}' if words else ''}")
                if self._give_up(silent_since):
                    return
                self._wait(pause_s)
                pause_s = min(2 * pause_s, self._settings.longest_pause_s)
        finally:
            self.close()

    def close(self) -> None:
        """End the process; calling it twice does no harm."""
        self._closed = True
        feed, self._feed = self._feed, None
        if feed is not None:
            feed.stop()

    def _run(self, feed: Feed) -> Generator[Frame, None, str | None]:
        """Frames of one process; returns why it is given up, None where it ended by itself."""
        last: Image | None = None
        start, fresh_s, patience_s = self._seen, time.monotonic(), self._settings.start_s
        while not self._closed:
            newest = feed.take(_TICK_S)
            if newest is None:
                if feed.ended:
                    return None
            elif last is None or not _same(newest.image, last):
                last, fresh_s, patience_s = newest.image, newest.time_s, self._settings.stall_s
                yield self._frame(newest, start)
            else:
                self._count(newest, start)
            if time.monotonic() - fresh_s > patience_s:
                return "no frame in time" if newest is None else "the picture stood still, bit for bit"
        return None

    def _count(self, newest: Newest, start: int) -> int:
        """Number of a frame in the stream; frames that were passed over are counted."""
        number = start + newest.number
        self._dropped += number - self._seen
        self._seen = number + 1
        return number

    def _frame(self, newest: Newest, start: int) -> Frame:
        number = self._count(newest, start)
        image = newest.image if self._turn is None else np.ascontiguousarray(self._turn(newest.image))
        return Frame(image, number, newest.time_s)

    def _note(self, reason: str) -> None:
        if not self._closed:
            self._outages[reason] = self._outages.get(reason, 0) + 1

    def _give_up(self, silent_since: float) -> bool:
        limit_s = self._settings.give_up_s
        if limit_s is None or time.monotonic() - silent_since < limit_s:
            return False
        if not self._seen:
            raise SourceError(f"{self._name} gave no frame ({'; '.join(self.faults)})", mend="check cable and address")
        return True

    def _wait(self, pause_s: float) -> None:
        end_s = time.monotonic() + pause_s
        while not self._closed and time.monotonic() < end_s:
            time.sleep(_TICK_S)


def _same(image: Image, last: Image) -> bool:
    """Bit for bit; a few pixels settle it for nearly every frame."""
    return np.array_equal(image[::37, ::37], last[::37, ::37]) and np.array_equal(image, last)
