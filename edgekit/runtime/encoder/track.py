"""Positions of the trolley over time, from a CSV."""

from __future__ import annotations

import csv
import math
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from edgekit.errors import SourceError
from edgekit.runtime.encoder.jumps import Jumps

_GAP_S = 1.0
"""Between two readings further apart than this nothing is said: where an encoder only speaks when it moves, a straight
line between them would spread a movement over the stop before it."""
_COLUMNS = "time_s, and position_mm or ticks"
_LONGEST_LINE = 10_000
"""Characters; Python's reader gives up at 131,072 a field."""
_JUNK_LINES, _JUNK_SHARE = 5, 0.1
"""A file with more lines that are no readings is another file."""
_JUMPS_SHARE = 0.05
"""Of the readings: where more of them jump, the unit is wrong, or it is another file."""


class Odometer(Protocol):
    """Says where the trolley was."""

    @property
    def faults(self) -> tuple[str, ...]:
        """What was wrong with it so far, in words."""
        ...

    def position_mm(self, time_s: float) -> float | None:
        """Position on the rail at the time of a frame; None where nothing is known."""
        ...

    def close(self) -> None:
        """Let go of its port; calling it twice does no harm."""
        ...


class Track:
    """Readings in the order of time.

    Args:
        times_s: rising.
        positions_mm: as many.
        faults: what was wrong with the file.
    """

    def __init__(self, times_s: Sequence[float], positions_mm: Sequence[float], faults: tuple[str, ...] = ()) -> None:
        self._times_s, self._positions_mm = list(times_s), list(positions_mm)
        self.faults = faults

    @property
    def span_s(self) -> tuple[float, float]:
        """Times of the first and the last reading."""
        return self._times_s[0], self._times_s[-1]

    def position_mm(self, time_s: float) -> float | None:
        """Position between two readings, on a straight line; None outside of them and in gaps."""
        return between(self._times_s, self._positions_mm, time_s)

    def close(self) -> None:
        """Nothing is held open."""


def between(times_s: Sequence[float], positions_mm: Sequence[float], time_s: float) -> float | None:
    """Linear interpolation; None outside of the readings, and in gaps in which the trolley moved."""
    right = bisect_left(times_s, time_s)
    if right == len(times_s) or (right == 0 and times_s[0] != time_s):
        return None
    if times_s[right] == time_s:
        return positions_mm[right]
    (t0, t1), (p0, p1) = times_s[right - 1 : right + 1], positions_mm[right - 1 : right + 1]
    if t1 - t0 > _GAP_S and p0 != p1:
        return None
    return p0 + (p1 - p0) * (time_s - t0) / (t1 - t0)


def read_track(path: Path, *, ticks_per_metre: float | None = None, offset_s: float = 0.0) -> Track:
    """The positions of a CSV with a header: time_s, and position_mm or ticks.

    Raises:
        SourceError: it cannot be read, lacks a column or has too few readings, or ticks come without their number a
            metre.
    """
    lines = _lines(path)
    column = _position_column(path, lines.fieldnames or ())
    if column == "ticks" and ticks_per_metre is None:
        raise SourceError(f"{path} holds ticks", mend="say encoder.ticks_per_metre in --config")
    mm = 1.0 if column == "position_mm" else 1000.0 / (ticks_per_metre or 1.0)
    times_s: list[float] = []
    positions_mm: list[float] = []
    junk = 0
    for line in lines:
        time_s, position = _number(line.get("time_s")), _number(line.get(column))
        if time_s is None or position is None or (times_s and time_s + offset_s <= times_s[-1]):
            junk += 1
            continue
        times_s.append(time_s + offset_s)
        positions_mm.append(position * mm)
    if len(times_s) < 2 or junk > max(_JUNK_LINES, _JUNK_SHARE * len(times_s)):
        raise SourceError(f"{path} holds {len(times_s)} usable readings and {junk} others", mend=f"give {_COLUMNS}")
    faults = [f"{junk} lines of the encoder's file {path.name} are no readings in the order of time"] if junk else []
    return _without_jumps(path, times_s, positions_mm, faults)


def _lines(path: Path) -> csv.DictReader[str]:
    if not path.is_file():
        raise SourceError(f"{path} is no file", mend=f"give a CSV with {_COLUMNS}")
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"cannot read the encoder's file {path}: {error}") from error
    lines = text.splitlines()
    longest = max(map(len, lines), default=0)
    if longest > _LONGEST_LINE:
        raise SourceError(f"{path} has a line of {longest} characters", mend=f"give a CSV with {_COLUMNS}")
    return csv.DictReader(lines, strict=False)


def _without_jumps(path: Path, times_s: list[float], positions_mm: list[float], faults: list[str]) -> Track:
    """The track over the jumps of a counter that started again; one that jumps all the time is left as it is."""
    jumps = Jumps()
    steady_mm = [jumps.take(time_s, position_mm) for time_s, position_mm in zip(times_s, positions_mm, strict=True)]
    if jumps.words is None:
        return Track(times_s, positions_mm, tuple(faults))
    if jumps.count > max(1, _JUMPS_SHARE * len(times_s)):
        faults.append(f"{jumps.count} readings in {path.name} jump: are they in millimetres, and times in seconds?")
        return Track(times_s, positions_mm, tuple(faults))
    return Track(times_s, steady_mm, (*faults, jumps.words))


def _position_column(path: Path, names: Sequence[str]) -> str:
    for column in ("position_mm", "ticks"):
        if column in names and "time_s" in names:
            return column
    raise SourceError(f"{path} has the columns {', '.join(names) or 'none'}", mend=f"name them {_COLUMNS}")


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None
