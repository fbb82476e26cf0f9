"""A counter that starts again, wraps round or slips in one reading: no trolley moves like that."""

from __future__ import annotations

_JUMP_M_S = 5.0
"""Faster than anything that is pushed or driven along a row."""
_JUMP_MM = 100.0
"""What is less is the step of a coarse encoder whose readings come in bursts."""


class Jumps:
    """Follows an encoder's position over its jumps; across one the movement before it is taken to go on."""

    def __init__(self) -> None:
        self.count = 0
        self.first: tuple[float, float] | None = None
        """Time and size (mm) of the first one."""
        self._last: tuple[float, float] | None = None
        self._mm_s = 0.0
        self._shift_mm = 0.0

    def take(self, time_s: float, position_mm: float) -> float:
        """The position without the jumps so far."""
        position_mm += self._shift_mm
        if self._last is not None and time_s > self._last[0]:
            elapsed_s, moved_mm = time_s - self._last[0], position_mm - self._last[1]
            if abs(moved_mm) > max(_JUMP_MM, 1000.0 * _JUMP_M_S * elapsed_s):
                self._note(time_s, moved_mm)
                expected_mm = self._mm_s * elapsed_s
                self._shift_mm += expected_mm - moved_mm
                position_mm += expected_mm - moved_mm
            else:
                self._mm_s = moved_mm / elapsed_s
        self._last = (time_s, position_mm)
        return position_mm

    def _note(self, time_s: float, moved_mm: float) -> None:
        self.count += 1
        if self.first is None:
            self.first = (time_s, moved_mm)

    @property
    def words(self) -> str | None:
        """What a person should know; None where there was none."""
        if self.first is None:
            return None
        time_s, moved_mm = self.first
        more = f", and {self.count - 1} times more" if self.count > 1 else ""
        return (
            f"the encoder's position jumped by {moved_mm:.0f} mm at {time_s:.2f} s{more}: did it start again?"
            " It is read on from where it was"
        )
