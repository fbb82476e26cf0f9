"""Frames of a camera that runs: the newest one, what was dropped counted, outages noticed and mended."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field

from edgekit.contracts import Frame, Image
from edgekit.errors import SettingsError, SourceError
from edgekit.runtime.same_picture import same_picture
from edgekit.runtime.sources.feed import Feed, Newest
from edgekit.runtime.sources.hints import hint_for
from edgekit.runtime.sources.pace import Asked, Pace

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
    never_s: float | None = None
    """Seconds after which a camera that never gave a frame is given up; None: as `give_up_s`."""
    may_end: bool = False
    """True where the stream has an end of its own (a file at real-time pace): then its end is not an outage."""


@dataclass
class _Outages:
    """How often the stream was lost, and for how long, by reason."""

    counts: dict[str, int] = field(default_factory=dict)
    lost_s: dict[str, float] = field(default_factory=dict)

    def add(self, reason: str) -> None:
        self.counts[reason] = self.counts.get(reason, 0) + 1

    def over(self, reason: str, seconds: float) -> None:
        self.lost_s[reason] = self.lost_s.get(reason, 0.0) + seconds

    def lines(self) -> list[str]:
        return [self._line(reason, count) for reason, count in self.counts.items()]

    def _line(self, reason: str, count: int) -> str:
        times = [f"{count} times"] if count > 1 else []
        lost = [f"{self.lost_s[reason]:.1f} s without pictures"] if reason in self.lost_s else []
        return f"{reason} ({', '.join(times + lost)})" if times or lost else reason


class LiveSource:
    """A camera as a source. A gap in the numbers is a gap in the pictures: frames that gave way to newer ones are
    missing by number, and an outage leaves out as many numbers as frames would have come.

    Args:
        name: what a person calls the camera.
        start: starts the process that gives its frames.
        settings: patience.
        turn: applied to every picture (mounting, mirror); None: as it comes.
        asked: what the camera was asked for, to tell where it gives something else.
        told: hears, a line each, why a camera is started again.
    """

    def __init__(
        self,
        name: str,
        start: Callable[[], Feed],
        *,
        settings: LiveSettings | None = None,
        turn: Callable[[Image], Image] | None = None,
        asked: Asked | None = None,
        told: Callable[[str], None] | None = None,
    ) -> None:
        self._name = name
        self._start = start
        self._settings = settings or LiveSettings()
        self._turn = turn
        self._asked = asked or Asked()
        self._told = told
        self._feed: Feed | None = None
        self._closed = False
        self._limit_s: float | None = None
        self._first_s: float | None = None
        self._seen = 0
        self._delivered = 0
        self._dropped = 0
        self._rate_hz: float | None = None
        self._last_s: float | None = None
        self._trouble: str | None = None
        self._outages = _Outages()
        self._doubts: list[str] = []

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
    def rate_hz(self) -> float | None:
        """Frames a second that the camera really gives, dropped ones included; None before two seconds are over."""
        return self._rate_hz

    @property
    def trouble(self) -> str | None:
        """Why no pictures come at present; None while they do. May be read from another thread."""
        return self._trouble

    @property
    def faults(self) -> tuple[str, ...]:
        """Outages so far, a line a kind with how often: a night without a camera stays one line."""
        dropped = f"{self._dropped} frames were dropped, too late to be used"
        return (*self._doubts, *self._outages.lines(), *([dropped] if self._dropped else []))

    def __iter__(self) -> Iterator[Frame]:
        """Frames until the camera is closed, its stream has its end, or it was silent for too long.

        Raises:
            SourceError: the camera never gave a frame and is given up.
        """
        pause_s, silent_since = self._settings.first_pause_s, time.monotonic()
        try:
            while not self._closed:
                feed = self._feed = self._start()
                before = self._delivered
                reason = yield from self._run(feed)
                status, words = feed.stop()
                if self._over or (reason is None and self._settings.may_end and status == 0):
                    return
                if self._delivered > before:
                    pause_s, silent_since = self._settings.first_pause_s, time.monotonic()
                self._trouble = reason or f"the stream ended{f': {words}' if words else ''}"
                self._outages.add(self._trouble)
                if self._give_up(silent_since):
                    return
                if self._told is not None:
                    self._told(f"{self._name}: {self._trouble}; {'started' if self._delivered else 'tried'} again")
                self._wait(pause_s)
                pause_s = min(2 * pause_s, self._settings.longest_pause_s)
        finally:
            self.close()

    def end_after(self, seconds: float) -> None:
        """Let the stream end so long after its first frame.

        Raises:
            SettingsError: that is no time.
        """
        if not 0 < seconds < math.inf:  # false for nan too
            raise SettingsError(f"{seconds} seconds are no time for a row", mend="give a number above 0")
        self._limit_s = seconds

    def close(self) -> None:
        """End the process; calling it twice, or from another thread, does no harm."""
        self._closed = True
        if self._feed is not None:
            self._feed.stop()

    @property
    def _over(self) -> bool:
        """Closed, or at the end that was set."""
        if self._closed or self._limit_s is None or self._first_s is None:
            return self._closed
        return time.monotonic() - self._first_s >= self._limit_s

    def _run(self, feed: Feed) -> Generator[Frame, None, str | None]:
        """Frames of one process; returns why it is given up, None where it ended by itself."""
        last: Image | None = None
        pace, start = Pace(self._asked), self._seen
        fresh_s, patience_s = time.monotonic(), self._settings.start_s
        while not self._over:
            newest = feed.take(_TICK_S)
            if newest is None:
                if feed.ended:
                    return None
            elif last is None or not same_picture(newest.image, last):
                start = self._resumed(newest, start) if last is None else start
                last, patience_s = newest.image, self._settings.stall_s
                self._watch(pace, newest)
                yield self._frame(newest, start)
                fresh_s = time.monotonic()  # the time that the reader took is not the camera's
            else:
                self._count(newest, start)
            if time.monotonic() - fresh_s > patience_s:
                return "no frame in time" if newest is None else "the picture stood still, bit for bit"
        return None

    def _resumed(self, newest: Newest, start: int) -> int:
        """The first picture of a process: where an outage lies behind, numbers are left out for the missed frames."""
        if self._last_s is None:
            return start
        lost_s = newest.time_s - self._last_s
        if self._trouble is not None:
            self._outages.over(self._trouble, lost_s)
        missed = max(1, round(lost_s * (self._rate_hz or self._asked.rate_hz or 1.0)) - 1)
        self._seen = start + missed
        return self._seen

    def _count(self, newest: Newest, start: int) -> int:
        """Number of a frame in the stream; frames that were passed over are counted."""
        number = start + newest.number
        self._dropped += number - self._seen
        self._seen = number + 1
        return number

    def _frame(self, newest: Newest, start: int) -> Frame:
        number = self._count(newest, start)
        self._delivered += 1
        self._last_s, self._trouble = newest.time_s, None
        self._first_s = newest.time_s if self._first_s is None else self._first_s
        image = newest.image if self._turn is None else self._turn(newest.image)
        return Frame(image, number, newest.time_s, device_time_s=newest.device_time_s)

    def _watch(self, pace: Pace, newest: Newest) -> None:
        """Compare what comes with what was asked; each doubt is told once."""
        height, width = newest.image.shape[:2]
        for doubt in (pace.note(newest.number, newest.time_s), pace.size((width, height))):
            if doubt is not None and doubt not in self._doubts and len(self._doubts) < 2:
                self._doubts.append(doubt)
        self._rate_hz = pace.rate_hz or self._rate_hz

    def _give_up(self, silent_since: float) -> bool:
        limit_s = self._settings.give_up_s
        if not self._delivered and self._settings.never_s is not None:
            limit_s = self._settings.never_s
        if limit_s is None:
            return False
        hint = hint_for(self._trouble or "")
        over = time.monotonic() - silent_since >= limit_s
        if not self._delivered and (over or hint.final):
            raise SourceError(f"{self._name} gave no frame ({'; '.join(self.faults)})", mend=hint.mend)
        return over

    def _wait(self, pause_s: float) -> None:
        end_s = time.monotonic() + pause_s
        while not self._closed and time.monotonic() < end_s:
            time.sleep(_TICK_S)
