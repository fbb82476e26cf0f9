"""What a latency means on the rail: how fast the trolley may go."""

from __future__ import annotations

import math
from dataclasses import dataclass

from edgekit.errors import MeasurementError


@dataclass(frozen=True)
class TrolleySettings:
    """The rail job that latency is judged against.

    Raises:
        MeasurementError: a scale, overlap or number that cannot be.
    """

    px_per_metre: float = 1280.0
    """Scale of the panorama: a camera of 1280 px that sees 1 m of row."""
    panorama_height_px: int = 720
    overlap_px: int = 96
    """Overlap of neighbouring tiles: the run's own default."""
    cameras: int = 2
    """Left and right."""
    speed_m_s: float = 0.25
    """Planned speed, for the real-time factor."""

    def __post_init__(self) -> None:
        numbers = (self.px_per_metre, self.panorama_height_px, self.cameras, self.speed_m_s)
        if not all(0 < number < math.inf for number in numbers) or self.overlap_px < 0:
            raise MeasurementError("scale, height, cameras and speed of the trolley must be above 0")


@dataclass(frozen=True)
class TrolleySpeed:
    """Whether the device keeps up."""

    tiles_per_metre: float
    """Of row, all cameras together."""
    highest_speed_m_s: float
    """At which segmenting alone uses all the time there is."""
    real_time_factor: float
    """Work over time at the planned speed: below 1 keeps up."""


def trolley_speed(tiles_per_s: float, tile_px: int, settings: TrolleySettings) -> TrolleySpeed:
    """Speed limits from a throughput.

    Raises:
        MeasurementError: tiles that do not move on, since the overlap is as large as they are.
    """
    step = tile_px - settings.overlap_px
    if step <= 0:
        raise MeasurementError(f"an overlap of {settings.overlap_px} px leaves no step of {tile_px} px tiles")
    rows = 1 if settings.panorama_height_px <= tile_px else -(-(settings.panorama_height_px - tile_px) // step) + 1
    per_metre = settings.cameras * rows * settings.px_per_metre / step
    highest = tiles_per_s / per_metre
    return TrolleySpeed(per_metre, highest, settings.speed_m_s / highest)
