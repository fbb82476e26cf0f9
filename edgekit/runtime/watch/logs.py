"""The log of a live run: JSON lines for journald and files, plain lines for a terminal, and no flood of either."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from logging.handlers import RotatingFileHandler
from typing import Any, TextIO

from edgekit.atomic import storage_error
from edgekit.runtime.watch.log_limit import Limit, LimitedHandler
from edgekit.runtime.watch.settings import LogSettings
from edgekit.runtime.watch.words import printable

_OLD_FILES = 3
_PRIORITIES = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}
"""Levels of syslog, which journald reads as `<N>` in front of a line."""
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""What every record has; anything else was given as `extra` and goes into the JSON line."""


@contextmanager
def run_log(
    settings: LogSettings, *, stream: TextIO | None = None, run: Callable[[], str | None] = lambda: None
) -> Iterator[None]:
    """Write what edgekit logs while the block lasts; the loggers of other packages are left as they are.

    Args:
        settings: form, level, file and limits.
        stream: instead of standard error.
        run: tells the name of the run folder that is written just then, a field of every JSON line; None: no field.

    Raises:
        StorageError: the log file cannot be written.
    """
    logger = logging.getLogger("edgekit")
    target, before = _target(settings, stream or sys.stderr, run), (logger.level, logger.propagate)
    limit = Limit(settings.repeats, settings.window_s, settings.lines_per_window)
    handler = LimitedHandler(target, limit)
    logger.addHandler(handler)
    logger.setLevel(settings.level.upper())
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]
        handler.close()


class JsonLines(logging.Formatter):
    """One JSON object a line: time (wall clock, UTC, a label only), monotonic seconds, level, part, text, and extras.

    Args:
        run: tells the name of the run folder; None while there is none.
        priorities: put syslog's level in front, for journald.
    """

    def __init__(self, *, run: Callable[[], str | None], priorities: bool = False) -> None:
        super().__init__()
        self._run, self._priorities = run, priorities

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        words: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds"),
            "monotonic_s": round(time.monotonic(), 3),
            "level": record.levelname.lower(),
            "part": record.name,
            "text": record.getMessage(),
        }
        run = self._run()
        if run is not None:
            words["run"] = run
        words |= {name: value for name, value in vars(record).items() if name not in _OWN and name not in words}
        if record.exc_info:
            words["trace"] = self.formatException(record.exc_info)
        line = json.dumps(words, ensure_ascii=False, default=str)
        return f"<{_PRIORITIES.get(record.levelno, 6)}>{line}" if self._priorities else line


class PlainLines(logging.Formatter):
    """Time of day, level where it is not `info`, text in one line: for a person at a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        level = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
        text = f"{time.strftime('%H:%M:%S', time.localtime(record.created))} {level}{printable(record.getMessage())}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


class _Rotating(RotatingFileHandler):
    """A log file that never disturbs the run: a line that cannot be written is lost."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Say nothing: a full disk is told by the board."""


class _Stream(logging.Handler):
    """Lines to a stream that may have lost its reader: then a line is lost, and the run goes on."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record."""
        line = self.format(record)
        with contextlib.suppress(OSError, ValueError):  # ValueError: the stream is closed
            self._stream.write(f"{line}\n")
            self._stream.flush()


def _target(settings: LogSettings, stream: TextIO, run: Callable[[], str | None]) -> logging.Handler:
    plain = settings.form == "plain" or (settings.form == "auto" and settings.file is None and stream.isatty())
    handler: logging.Handler
    if settings.file is None:
        handler = _Stream(stream)
    else:
        try:
            size = max(1, int(settings.file_mb * 1e6))
            handler = _Rotating(settings.file, maxBytes=size, backupCount=_OLD_FILES, encoding="utf-8")
        except OSError as error:
            raise storage_error(settings.file, error) from error
    journal = settings.file is None and _is_journal(stream, os.environ)
    handler.setFormatter(PlainLines() if plain else JsonLines(run=run, priorities=journal))
    return handler


def _is_journal(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """True where the stream is the one that systemd connected to its journal."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):  # ValueError: a stream without a file
        return False
    return environment.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"
