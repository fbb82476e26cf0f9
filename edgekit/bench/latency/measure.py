"""Time a call honestly: warm up by time, wait for the device, keep every sample."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from edgekit.errors import MeasurementError

Clock = Callable[[], float]


@dataclass(frozen=True)
class MeasureSettings:
    """How long to measure.

    Raises:
        MeasurementError: times or numbers that cannot be.
    """

    warm_up_s: float = 3.0
    """Calls go on untimed for so long: clocks rise, caches fill, kernels are chosen. By time and not by count, since
    30 calls of 5 ms are over before a Jetson has raised its clocks."""
    measure_s: float = 10.0
    """Timed calls go on for so long ..."""
    least_samples: int = 30
    """... and until there are so many ..."""
    most_s: float = 120.0
    """... but never longer than this."""

    def __post_init__(self) -> None:
        times = 0 <= self.warm_up_s < math.inf and 0 < self.measure_s <= self.most_s < math.inf
        if not times or self.least_samples < 1:
            raise MeasurementError("times of a measurement must be positive, the longest not below the wanted")


@dataclass(frozen=True)
class Timed:
    """Samples of one call, in the order in which they were taken."""

    warm_up_ms: tuple[float, ...]
    """Calls of the warm-up; the first is the time to the first result."""
    samples_ms: tuple[float, ...]
    starts_s: tuple[float, ...]
    """When each sample began, seconds after the first."""


def measure(
    call: Callable[[], object],
    *,
    synchronise: Callable[[], object] | None = None,
    settings: MeasureSettings | None = None,
    clock: Clock = time.perf_counter,
) -> Timed:
    """Time a call again and again.

    Args:
        call: what is measured.
        synchronise: waits until the device has finished what `call` started. Without it, a call that only queues
            work would be timed as the queueing. None where the call returns with its result in host memory.
        settings: how long.
        clock: monotonic seconds; for tests.
    """
    settings = settings or MeasureSettings()

    def once() -> tuple[float, float]:
        if synchronise is not None:
            synchronise()  # what is still running from before is not this call's time
        started = clock()
        call()
        if synchronise is not None:
            synchronise()
        return started, (clock() - started) * 1e3

    begun = clock()
    warm_up = [once()[1]]
    while clock() - begun < settings.warm_up_s:
        warm_up.append(once()[1])
    begun = clock()
    samples = [once()]
    while _goes_on(clock() - begun, len(samples), settings):
        samples.append(once())
    first = samples[0][0]
    return Timed(tuple(warm_up), tuple(ms for _, ms in samples), tuple(start - first for start, _ in samples))


def _goes_on(passed_s: float, samples: int, settings: MeasureSettings) -> bool:
    return passed_s < settings.measure_s or (samples < settings.least_samples and passed_s < settings.most_s)
