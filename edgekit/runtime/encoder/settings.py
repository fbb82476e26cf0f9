"""What a person may set about the encoder."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from edgekit.errors import SettingsError

Mode = Literal["assist", "override"]


@dataclass(frozen=True)
class EncoderSettings:
    """The encoder of a trolley.

    Raises:
        SettingsError: a value out of range.
    """

    file: str = ""
    """CSV of one row (time_s, and position_mm or ticks), folder with a CSV a row named as its video, or a serial port,
    for instance /dev/ttyUSB0. Empty: there is none."""
    mode: Mode = "assist"
    """assist: the pictures measure, the encoder gives the scale, says what to expect and bridges where the pictures
    show nothing; override: the encoder alone says how far the trolley rode."""
    ticks_per_metre: float | None = None
    """Of an encoder that counts ticks."""
    offset_s: float = 0.0
    """Added to the encoder's times, so that they are those of the video."""
    baud: int = 115200
    """Speed of the serial port."""

    def __post_init__(self) -> None:
        if self.mode not in ("assist", "override"):
            raise SettingsError(f"encoder.mode is {self.mode!r}", mend="choose assist or override")
        if self.ticks_per_metre is not None and not 0 < self.ticks_per_metre < math.inf:
            raise SettingsError(f"encoder.ticks_per_metre is {self.ticks_per_metre}", mend="give a number above 0")
        if not math.isfinite(self.offset_s):
            raise SettingsError(f"encoder.offset_s is {self.offset_s}", mend="give seconds")
        if not 300 <= self.baud <= 4_000_000:
            raise SettingsError(f"encoder.baud is {self.baud}", mend="give the port's speed, for instance 115200")
