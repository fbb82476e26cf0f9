"""What TensorRT says of itself, kept for the one line that a person reads."""

from __future__ import annotations

from collections import deque
from typing import Any, Protocol

KEPT = 3
"""Messages; the first one after another success is mostly the cause."""


class Log(Protocol):
    """A TensorRT logger that keeps the last errors."""

    def told(self) -> str:
        """The last errors, in brackets after a space; empty where there are none."""
        ...


def make_log(trt: Any) -> Log:
    """A logger for one runtime; only errors are kept."""

    class ErrorLog(trt.ILogger):  # type: ignore[misc]
        def __init__(self) -> None:
            trt.ILogger.__init__(self)
            self._errors: deque[str] = deque(maxlen=KEPT)

        def log(self, severity: Any, message: str) -> None:
            if severity in (trt.ILogger.Severity.ERROR, trt.ILogger.Severity.INTERNAL_ERROR):
                self._errors.append(message.strip().splitlines()[0] if message.strip() else "")

        def told(self) -> str:
            return f" ({'; '.join(self._errors)})" if self._errors else ""

    log: Log = ErrorLog()
    return log
