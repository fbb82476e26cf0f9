"""Lines that say the same again are counted instead of written: a camera that is away all night stays a few lines."""

from __future__ import annotations

import logging
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

MOST_KINDS = 512
"""Kinds of lines that are told apart; the one that was silent longest is given up for a new one."""
_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+(?:[.,:]\d+)*", re.IGNORECASE)


@dataclass
class _Kind:
    name: str
    level: int
    begun_s: float
    written: int = 0
    hidden: int = 0
    last: str = ""
    """Text of the last line alone: a record with a trace would keep pictures in memory."""


class Limit:
    """Decides which lines are written.

    Two lines are of one kind when they differ in their numbers alone and come from one part at one level.

    Args:
        repeats: lines of one kind within a window; the rest are counted.
        window_s: length of the window.
        lines: lines of all kinds within a window.
        clock: monotonic seconds; for tests.
    """

    def __init__(
        self, repeats: int, window_s: float, lines: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._repeats, self._window_s, self._lines, self._clock = repeats, window_s, lines, clock
        self._kinds: OrderedDict[tuple[str, int, str], _Kind] = OrderedDict()
        self._begun_s, self._written, self._hidden = clock(), 0, 0

    def passing(self, record: logging.LogRecord) -> list[logging.LogRecord]:
        """The lines to write now: reports on windows that are over, then the record unless it is one too many."""
        now_s = self._clock()
        out = self._ended(now_s)
        text = record.getMessage()
        key = (record.name, record.levelno, _NUMBERS.sub("#", text))
        kind = self._kinds.pop(key, None) or _Kind(record.name, record.levelno, now_s)
        self._kinds[key] = kind
        kind.last = text
        if kind.written < self._repeats and self._written < self._lines:
            kind.written += 1
            self._written += 1
            out.append(record)
        elif kind.written < self._repeats:
            self._hidden += 1
        else:
            kind.hidden += 1
        if len(self._kinds) > MOST_KINDS:
            out += _report(self._kinds.popitem(last=False)[1])
        return out

    def rest(self) -> list[logging.LogRecord]:
        """What was counted and is not told yet."""
        kinds = list(self._kinds.values())
        self._kinds.clear()
        return [line for kind in kinds for line in _report(kind)] + self._overall()

    def _ended(self, now_s: float) -> list[logging.LogRecord]:
        """Reports on windows that are over."""
        over = [key for key, kind in self._kinds.items() if now_s - kind.begun_s >= self._window_s]
        out = [line for key in over for line in _report(self._kinds.pop(key))]
        if now_s - self._begun_s >= self._window_s:
            out += self._overall()
            self._begun_s, self._written = now_s, 0
        return out

    def _overall(self) -> list[logging.LogRecord]:
        hidden, self._hidden = self._hidden, 0
        words = f"{hidden} lines of the log were left out: more than {self._lines} in {self._window_s:g} s"
        return [_record("edgekit", logging.WARNING, words)] if hidden else []


class LimitedHandler(logging.Handler):
    """Passes on what the limit lets through.

    Args:
        target: writes the lines.
        limit: decides.
    """

    def __init__(self, target: logging.Handler, limit: Limit) -> None:
        super().__init__()
        self._target, self._limit = target, limit

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record, or count it."""
        try:
            for line in self._limit.passing(record):
                self._target.handle(line)
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """Write what was only counted, and close the target."""
        self.acquire()
        try:
            for line in self._limit.rest():
                self._target.handle(line)
        finally:
            self.release()
        self._target.close()
        super().close()


def _report(kind: _Kind) -> list[logging.LogRecord]:
    if not kind.hidden:
        return []
    return [_record(kind.name, kind.level, f"{kind.hidden} more such lines, the last: {kind.last}")]


def _record(name: str, level: int, words: str) -> logging.LogRecord:
    return logging.LogRecord(name, level, "", 0, words, None, None)
