"""Whether samples tell one latency, or a device that got slower, was throttled, or had other things to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import theilslopes

from edgekit.wording import counted

DRIFT_LIMIT = 0.05
"""The second half may be 5 % slower (or faster) than the first; more is drift (ultralytics#7903: 18 to 40 ms)."""
OUTLIER_FACTOR = 2.0
OUTLIER_LIMIT = 0.02
"""More than 2 % of samples above twice the median: the machine did other things as well."""
LEAST_SAMPLES = 20
CLOCK_LIMIT = 0.05
"""A clock that is 5 % lower at the end than at the start was throttled."""


@dataclass(frozen=True)
class DeviceState:
    """What the device said at one moment; None where it does not say."""

    clock_mhz: float | None = None
    temperature_c: float | None = None
    throttle_reasons: tuple[str, ...] = ()
    power_mode: str | None = None


@dataclass(frozen=True)
class Stability:
    """The verdict, with its reasons."""

    stable: bool
    reasons: tuple[str, ...]
    drift: float | None
    """Median of the second half over that of the first, minus 1; None with too few samples."""
    slope_ms_per_min: float | None
    """Theil-Sen slope of latency over time, which single late samples do not move."""


def judge_stability(
    samples_ms: Sequence[float],
    starts_s: Sequence[float],
    *,
    before: DeviceState | None = None,
    after: DeviceState | None = None,
) -> Stability:
    """Judge samples in the order of time, and what the device said before and after them."""
    reasons: list[str] = []
    values, times = np.asarray(samples_ms, np.float64), np.asarray(starts_s, np.float64)
    if len(values) < LEAST_SAMPLES:
        reasons.append(f"only {counted(len(values), 'sample')}: drift cannot be judged below {LEAST_SAMPLES}")
        return Stability(False, tuple(reasons + _device_reasons(before, after)), None, None)
    half = len(values) // 2
    first, second = float(np.median(values[:half])), float(np.median(values[half:]))
    drift = second / first - 1 if first > 0 else 0.0
    every = max(len(values) // 400, 1)  # all pairs of 400 samples are enough, and quick
    slope = float(theilslopes(values[::every], times[::every])[0]) * 60 if np.ptp(times) > 0 else 0.0
    if abs(drift) > DRIFT_LIMIT:
        word = "slower" if drift > 0 else "faster"
        reasons.append(
            f"drift: the second half is {abs(drift):.0%} {word} than the first ({first:.2f} to {second:.2f} ms)"
        )
    late = float((values > OUTLIER_FACTOR * np.median(values)).mean())
    if late > OUTLIER_LIMIT:
        reasons.append(f"{late:.0%} of samples took more than twice the median: the machine did other work")
    reasons += _device_reasons(before, after)
    return Stability(not reasons, tuple(reasons), drift, slope)


def _device_reasons(before: DeviceState | None, after: DeviceState | None) -> list[str]:
    if before is None or after is None:
        return []
    reasons = [f"throttled: {reason}" for reason in dict.fromkeys(before.throttle_reasons + after.throttle_reasons)]
    if before.clock_mhz and after.clock_mhz and after.clock_mhz < before.clock_mhz * (1 - CLOCK_LIMIT):
        warm = f" at {after.temperature_c:.0f} C" if after.temperature_c is not None else ""
        reasons.append(f"throttled: the clock fell from {before.clock_mhz:.0f} to {after.clock_mhz:.0f} MHz{warm}")
    if before.power_mode != after.power_mode:
        reasons.append(f"the power mode changed from {before.power_mode} to {after.power_mode}")
    return reasons
