"""What a person may set about the measurement of displacement."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DisplacementSettings:
    """Where displacement is measured and within which limits."""

    band: tuple[float, float] = (0.0, 0.7)
    """Top and bottom of the rows where the fruit hangs, as shares of the height."""
