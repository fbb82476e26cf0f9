"""Whether a camera keeps what was asked of it: its real rate and size, measured over its first two seconds."""

from __future__ import annotations

from dataclasses import dataclass

_SETTLES_S = 0.5
"""What comes so soon is not measured: frames that waited while the stream was opened come at once."""
_OVER_S = 1.5
_DEVIATION = 0.1


@dataclass(frozen=True)
class Asked:
    """What was asked of a camera; None: whatever it gives."""

    size_wh: tuple[int, int] | None = None
    rate_hz: float | None = None


class Pace:
    """Frames and time of one stretch without outage.

    Args:
        asked: what the camera was asked for.
    """

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._opened_s: float | None = None
        self._first: tuple[int, float] | None = None
        self.rate_hz: float | None = None
        """Frames a second, dropped ones included; None before it is measured."""

    def note(self, number: int, time_s: float) -> str | None:
        """Take the number and time of a frame; return what is wrong with the rate, once, when that is known."""
        if self._opened_s is None:
            self._opened_s = time_s
        if time_s - self._opened_s < _SETTLES_S:
            return None
        if self._first is None:
            self._first = (number, time_s)
            return None
        elapsed_s = time_s - self._first[1]
        if self.rate_hz is not None or elapsed_s < _OVER_S:
            return None
        self.rate_hz = (number - self._first[0]) / elapsed_s
        wanted = self._asked.rate_hz
        if wanted is None or abs(self.rate_hz - wanted) <= _DEVIATION * wanted:
            return None
        hint = "is the exposure too long for it?" if self.rate_hz < wanted else "it does not do as asked"
        return f"the camera gives {self.rate_hz:.1f} frames/s, {wanted:g} were asked: {hint}"

    def size(self, size_wh: tuple[int, int]) -> str | None:
        """What is wrong with the size of a picture."""
        if self._asked.size_wh in (None, size_wh):
            return None
        asked = self._asked.size_wh or (0, 0)
        return f"the camera gives {size_wh[0]} x {size_wh[1]} px, {asked[0]} x {asked[1]} were asked"
