"""What TensorRT says of itself, kept for the one line that a person reads."""

from __future__ import annotations

import re
from typing import Any, Protocol

KEPT = 2
"""Messages: the first one is mostly the cause, the second what it led to."""
LONGEST = 240
"""Characters of a message."""
_PLACE = re.compile(r"\[\w+\.cpp::\w+::\d+\] |\(?\.? ?In \w+ at /\S+\.\w+:\d+\)? ?")
"""Where in TensorRT's own source code it noticed."""


class Log(Protocol):
    """A TensorRT logger that keeps the first errors."""

    def told(self) -> str:
        """The first errors, in brackets after a space; empty where there are none."""
        ...


def shortened(message: str) -> str:
    """The first line of a message, without places in TensorRT's source code."""
    line = _PLACE.sub(" ", message.strip().partition("\n")[0])
    line = " ".join(line.split()).replace("( ", "(").replace(" )", ")")
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}..."


def make_log(trt: Any) -> Log:
    """A logger for one runtime; only errors are kept."""

    class ErrorLog(trt.ILogger):  # type: ignore[misc]
        def __init__(self) -> None:
            trt.ILogger.__init__(self)
            self._errors: list[str] = []

        def log(self, severity: Any, message: str) -> None:
            if severity in (trt.ILogger.Severity.ERROR, trt.ILogger.Severity.INTERNAL_ERROR):
                self._errors = [*self._errors, shortened(message)][:KEPT]

        def told(self) -> str:
            return f" ({'; '.join(self._errors)})" if self._errors else ""

    log: Log = ErrorLog()
    return log
