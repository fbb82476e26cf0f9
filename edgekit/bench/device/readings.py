"""How the readings of a device during one piece of work are put together."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from edgekit.bench.device.energy import energy_j
from edgekit.bench.latency.stability import DeviceState
from edgekit.device.reading import DeviceProbe, Reading

IDLE_S = 2.0
"""So long the device rests before the work, to know what it spends on nothing."""


@dataclass(frozen=True)
class DeviceSummary:
    """What a piece of work cost; None where the device does not tell, with the reason in `missing`."""

    device: str
    source: str
    power_mode: str | None
    idle_w: float | None
    mean_w: float | None
    energy_j: float | None
    """Integral of power over the work, idle included."""
    energy_above_idle_j: float | None
    peak_device_memory_mb: float | None
    peak_host_memory_mb: float | None
    start_temperature_c: float | None
    end_temperature_c: float | None
    peak_temperature_c: float | None
    start_clock_mhz: float | None
    end_clock_mhz: float | None
    mean_load: float | None
    throttle_reasons: tuple[str, ...]
    seconds: float
    missing: dict[str, str]
    times_s: tuple[float, ...]
    """Stamps of the power samples, seconds after the work began (negative: idle)."""
    power_w: tuple[float, ...]


@dataclass
class Watch:
    """Readings that a thread takes beside the work."""

    probe: DeviceProbe
    readings: list[Reading] = field(default_factory=list)
    work_start_s: float = 0.0
    work_end_s: float = 0.0

    def state(self, *, last: bool) -> DeviceState:
        """Clock, temperature and throttling at the beginning or the end of the work."""
        during = [r for r in self.readings if self.work_start_s <= r.time_s <= self.work_end_s] or self.readings
        if not during:
            return DeviceState(power_mode=self.probe.power_mode)
        reading = during[-1 if last else 0]
        return DeviceState(reading.clock_mhz, reading.temperature_c, reading.throttle_reasons, self.probe.power_mode)

    def summary(self) -> DeviceSummary:
        """Everything that the readings tell."""
        return summarise_readings(self.probe, self.readings, self.work_start_s, self.work_end_s)


@contextmanager
def watching(probe: DeviceProbe, *, idle_s: float = IDLE_S) -> Iterator[Watch]:
    """Read the device before, during and after the block, in a thread of its own."""
    watch, stop = Watch(probe), threading.Event()

    def run() -> None:
        while not stop.is_set():
            watch.readings.append(probe.read())
            stop.wait(probe.period_s)

    thread = threading.Thread(target=run, name="edgekit-device", daemon=True)
    thread.start()
    try:
        time.sleep(idle_s)
        watch.work_start_s = time.monotonic()
        yield watch
        watch.work_end_s = time.monotonic()
        time.sleep(min(2.5 * probe.period_s, idle_s))  # a sample after the end, for the integral
    finally:
        watch.work_end_s = watch.work_end_s or time.monotonic()
        stop.set()
        thread.join(timeout=5)


def summarise_readings(probe: DeviceProbe, readings: Sequence[Reading], start_s: float, end_s: float) -> DeviceSummary:
    """Put the readings of one piece of work together; idle is the median power before it."""
    powered = [r for r in readings if r.power_w is not None]
    times, power = [r.time_s for r in powered], [float(r.power_w or 0) for r in powered]
    during = [r for r in readings if start_s <= r.time_s <= end_s]
    before = [p for t, p in zip(times, power, strict=True) if t < start_s]
    idle = float(np.median(before)) if before else None
    spent = energy_j(times, power, start_s, end_s)
    missing = dict(probe.missing)
    if spent is None and powered:
        missing["energy"] = f"{len(powered)} power samples do not cover {end_s - start_s:.2f} s of work"
    hottest = [r.temperature_c for r in during if r.temperature_c is not None]
    clocks = [r.clock_mhz for r in during if r.clock_mhz is not None]
    loads = [r.load for r in during if r.load is not None]
    above = None if spent is None or idle is None else spent - idle * (end_s - start_s)
    return DeviceSummary(
        device=probe.name, source=probe.source, power_mode=probe.power_mode, idle_w=idle,
        mean_w=None if spent is None else spent / (end_s - start_s), energy_j=spent, energy_above_idle_j=above,
        peak_device_memory_mb=max((r.device_memory_mb for r in during if r.device_memory_mb is not None), default=None),
        peak_host_memory_mb=max((r.host_memory_mb for r in during if r.host_memory_mb is not None), default=None),
        start_temperature_c=hottest[0] if hottest else None, end_temperature_c=hottest[-1] if hottest else None,
        peak_temperature_c=max(hottest, default=None), start_clock_mhz=clocks[0] if clocks else None,
        end_clock_mhz=clocks[-1] if clocks else None, mean_load=float(np.mean(loads)) if loads else None,
        throttle_reasons=tuple(dict.fromkeys(reason for r in during for reason in r.throttle_reasons)),
        seconds=end_s - start_s, missing=missing, times_s=tuple(t - start_s for t in times), power_w=tuple(power),
    )  # fmt: skip
