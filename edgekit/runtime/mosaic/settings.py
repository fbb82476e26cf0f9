"""What a person may set about the panorama."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from edgekit.errors import SettingsError

Travel = Literal["auto", "left", "right"]


@dataclass(frozen=True)
class MosaicSettings:
    """How frames become a panorama.

    Raises:
        SettingsError: a value out of range.
    """

    band: tuple[float, float] = (0.05, 0.55)
    """Top and bottom of the rows where the fruit hangs, as shares of the height; displacement is measured there."""
    travel: Travel = "auto"
    """Which way the camera travels along the row as it sees it; auto: told from the first movement."""
    strip_px: int = 16
    """Least advance between two frames that give pixels; a slower trolley skips frames in between."""
    seam_px: int = 64
    """Widest stretch within which a seam may wander to go round a fruit; 0: straight cuts."""
    drift_share: float = 0.05
    """Bound of the correction of vertical drift, as a share of the height."""
    even_exposure: bool = True
    """Even out steps of the exposure by one gain a frame, which fades within about a frame width."""

    def __post_init__(self) -> None:
        top, bottom = self.band
        if not 0 <= top < bottom <= 1 or bottom - top < 0.1:
            raise SettingsError(
                f"band must be two rising shares of the height at least 0.1 apart, got {self.band}",
                mend="for instance (0.05, 0.55) for the upper half but for the top",
            )
        if self.travel not in ("auto", "left", "right"):
            raise SettingsError(f"travel must be auto, left or right, got {self.travel!r}")
        if self.strip_px < 2:
            raise SettingsError(f"strip_px must be at least 2, got {self.strip_px}")
        if self.seam_px < 0:
            raise SettingsError(f"seam_px must be at least 0, got {self.seam_px}")
        if not 0 <= self.drift_share <= 0.5:
            raise SettingsError(f"drift_share must lie in 0 to 0.5, got {self.drift_share}")
