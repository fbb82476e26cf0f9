"""A board with a clock that the test moves."""

from __future__ import annotations

from edgekit.runtime.watch import StatusBoard


class Clock:
    """Monotonic seconds by hand."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s

    def wait(self, seconds: float) -> None:
        self.now_s += seconds


def two_cameras(clock: Clock | None = None) -> StatusBoard:
    return StatusBoard("night 3", [("cam-l", "left"), ("cam-r", "right")], clock=clock or Clock())
