"""An encoder on a serial port that says its position line by line: `mm 1234.5`, `ticks 8127`, or the number alone."""

from __future__ import annotations

import contextlib
import math
import re
import threading
import time
from collections import deque
from typing import Any

from edgekit.errors import MissingDependencyError
from edgekit.runtime.encoder.jumps import Jumps
from edgekit.runtime.encoder.settings import EncoderSettings
from edgekit.runtime.encoder.track import between

_LINE = re.compile(rb"\s*(?:(mm|ticks)\s+)?([+-]?\d{1,15}(?:\.\d{1,9})?)\s*")
_KEPT = 6000
"""Readings that are kept: a minute at 100 a second, far more than frames may wait."""
_FRESH_S = 0.25
"""A reading this old still holds: a frame is often handled before the next reading comes."""
_POLL_S = 0.2
_LONGEST_LINE = 64
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 5.0


class SerialOdometer:
    """Reads a serial port in a thread of its own; a port that goes away is opened again.

    Times are monotonic, taken when a line arrives: it serves live cameras, not recordings. A number alone counts ticks
    where ticks a metre are known, else millimetres.

    Raises:
        MissingDependencyError: pyserial is not installed.
    """

    def __init__(self, settings: EncoderSettings) -> None:
        try:
            import serial
        except ImportError as error:
            raise MissingDependencyError("pyserial is not installed", mend="pip install 'edgekit[encoder]'") from error
        self._serial: Any = serial
        self._settings = settings
        self._readings: deque[tuple[float, float]] = deque(maxlen=_KEPT)
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._junk = 0
        self._jumps = Jumps()
        self._outages: dict[str, int] = {}
        self._outage: str | None = None
        self._thread = threading.Thread(target=self._read, name="edgekit-encoder", daemon=True)
        self._thread.start()

    @property
    def faults(self) -> tuple[str, ...]:
        """Outages, lines that are no positions, and jumps, each a line."""
        jumps = [f"the encoder's position jumped {self._jumps.count} times: did it start again?"]
        junk = [f"{self._junk} lines of the encoder are no positions"] if self._junk else []
        return (
            *(f"encoder: {reason} ({count} times)" for reason, count in self._outages.items()),
            *junk,
            *jumps[: self._jumps.count],
        )

    @property
    def trouble(self) -> str | None:
        """Why the port cannot be read at present; None while it can."""
        return self._outage

    def position_mm(self, time_s: float) -> float | None:
        """Position at a monotonic time; None before the first reading and when the last one is too old."""
        readings = self._since(time_s)
        if not readings:
            return None
        last_s, last_mm = readings[-1]
        if time_s >= last_s:
            return last_mm if time_s - last_s <= _FRESH_S else None
        times_s, positions_mm = zip(*readings, strict=True)
        return between(times_s, positions_mm, time_s)

    def close(self) -> None:
        """End the thread and let go of the port."""
        self._closed.set()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _since(self, time_s: float) -> list[tuple[float, float]]:
        """The last reading that is not later, and all later ones: few, since frames are seldom older than a second."""
        found: list[tuple[float, float]] = []
        with self._lock:
            for reading in reversed(self._readings):
                found.append(reading)
                if reading[0] <= time_s:
                    break
        return found[::-1]

    def _read(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while not self._closed.is_set():
            try:
                with self._serial.Serial(self._settings.file, self._settings.baud, timeout=_POLL_S) as port:
                    pause_s, self._outage = _FIRST_PAUSE_S, None
                    self._listen(port)
            except (self._serial.SerialException, OSError) as error:
                reason = str(error).splitlines()[0] if str(error) else type(error).__name__
                self._outages[reason] = self._outages.get(reason, 0) + 1
                self._outage = reason
            self._closed.wait(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _listen(self, port: Any) -> None:
        rest = b""
        with contextlib.suppress(UnicodeError):
            port.reset_input_buffer()  # what waited there has no time
        first = True
        while not self._closed.is_set():
            *lines, rest = (rest + port.read(max(1, port.in_waiting))).split(b"\n")
            for line in lines[1:] if first else lines:  # the first one may be the tail of one
                self._take(line)
            first = first and not lines
            rest = rest[-_LONGEST_LINE:]

    def _take(self, line: bytes) -> None:
        match = _LINE.fullmatch(line)
        position_mm = None if match is None else self._millimetres(match[1], float(match[2]))
        if position_mm is None or not math.isfinite(position_mm):
            self._junk += bool(line.strip())
            return
        now_s = time.monotonic()
        position_mm = self._jumps.take(now_s, position_mm)
        with self._lock:
            self._readings.append((now_s + self._settings.offset_s, position_mm))

    def _millimetres(self, unit: bytes | None, value: float) -> float | None:
        a_metre = self._settings.ticks_per_metre
        if unit == b"mm" or (unit is None and a_metre is None):
            return value
        return None if a_metre is None else value / a_metre * 1000.0
