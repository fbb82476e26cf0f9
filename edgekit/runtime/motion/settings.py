"""What a person may set about the measurement of displacement."""

from __future__ import annotations

from dataclasses import dataclass

from edgekit.errors import SettingsError


@dataclass(frozen=True)
class DisplacementSettings:
    """Where displacement is measured and within which limits.

    Raises:
        SettingsError: a value out of range.
    """

    band: tuple[float, float] = (0.05, 0.55)
    """Top and bottom of the rows where the fruit hangs, as shares of the height."""
    reach: float = 0.33
    """Largest displacement between two frames, as a share of the width."""
    lift_px: float = 32.0
    """Largest vertical displacement between two frames."""
    focus: float = 0.15
    """Blocks count by their distance from the frame's middle, where strips are cut: standard deviation as a share of
    the width. Plants at another depth further out would stretch the fruit that is drawn; on a strawberry row 0.15 did
    better than 0.2 (bench/panorama/strawberry.py)."""

    def __post_init__(self) -> None:
        top, bottom = self.band
        if not 0 <= top < bottom <= 1 or bottom - top < 0.1:
            raise SettingsError(
                f"band must be two rising shares of the height at least 0.1 apart, got {self.band}",
                mend="for instance (0.05, 0.55) for the upper half but for the top",
            )
        if not 0.02 <= self.reach <= 0.45:
            raise SettingsError(f"reach must lie in 0.02 to 0.45, got {self.reach}")
        if not 0 <= self.lift_px <= 200:
            raise SettingsError(f"lift_px must lie in 0 to 200, got {self.lift_px}")
        if not 0.05 <= self.focus <= 5:
            raise SettingsError(f"focus must lie in 0.05 to 5, got {self.focus}")
