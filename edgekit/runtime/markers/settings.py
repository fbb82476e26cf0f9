"""What a person may set about markers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from edgekit.errors import SettingsError

Dictionary = Literal["4x4_50", "5x5_100", "6x6_250", "apriltag_36h11"]


@dataclass(frozen=True)
class MarkerSettings:
    """Which markers are looked for, and how often.

    Raises:
        SettingsError: a value out of range.
    """

    kinds: tuple[Literal["qr", "aruco"], ...] = ("qr", "aruco")
    """qr: the text says the row, `row:12:left`; aruco: the number of the marker is the row."""
    dictionary: Dictionary = "5x5_100"
    """Of the ArUco markers. Small grids (4x4) are taken for leaves more easily."""
    every_s: float = 0.2
    """Time between two frames that are looked at."""
    confirm: int = 2
    """Looks, one after the other, in which a marker must be read before it is heeded."""
    gone_s: float = 4.0
    """A marker that is seen again is heeded again only after it was out of sight for so long."""
    size_mm: float | None = None
    """Side of the printed marker, without its white border; with it, markers give the scale."""

    def __post_init__(self) -> None:
        if not self.kinds:
            raise SettingsError("markers.kinds is empty", mend="name qr, aruco or both")
        if not 0 <= self.every_s <= 10 or not 0 < self.gone_s <= 600:
            raise SettingsError(
                f"markers: every_s is {self.every_s}, gone_s is {self.gone_s}",
                mend="every_s lies in 0 to 10, gone_s above 0",
            )
        if not 1 <= self.confirm <= 20:
            raise SettingsError(f"markers.confirm is {self.confirm}", mend="give 1 to 20")
        if self.size_mm is not None and not 5 <= self.size_mm <= 2000:
            raise SettingsError(f"markers.size_mm is {self.size_mm}", mend="give the side in millimetres: 5 to 2000")
