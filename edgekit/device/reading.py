"""What any device can be asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Reading:
    """One moment; a quantity that the device does not give is None."""

    time_s: float
    """Monotonic."""
    power_w: float | None = None
    device_memory_mb: float | None = None
    """In use on the accelerator by this process where it can be told, else by all."""
    host_memory_mb: float | None = None
    """Resident memory of this process."""
    temperature_c: float | None = None
    clock_mhz: float | None = None
    load: float | None = None
    """0 to 1."""
    throttle_reasons: tuple[str, ...] = ()


class DeviceProbe(Protocol):
    """Something that can be read while a model runs."""

    name: str
    """Of the device, as its maker writes it."""
    source: str
    """Where readings come from: NVML, tegrastats, sysfs, RAPL."""
    power_mode: str | None
    missing: dict[str, str]
    """Quantity -> why this device does not give it."""
    period_s: float
    """How often it pays to read it."""

    def read(self) -> Reading:
        """One reading, now."""
        ...

    def close(self) -> None:
        """Let go of handles and processes."""
        ...
