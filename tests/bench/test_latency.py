"""Timing on fake clocks and devices: nothing too fast is reported, drift and throttling are told."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from edgekit.bench.latency.measure import MeasureSettings, measure
from edgekit.bench.latency.roofline import Roofline, measure_roofline, place
from edgekit.bench.latency.samples import summarise
from edgekit.bench.latency.stability import DeviceState, judge_stability
from edgekit.bench.latency.trolley import TrolleySettings, trolley_speed
from edgekit.errors import MeasurementError


class AsyncDevice:
    """Takes work at once and is ready 20 ms later, as a GPU queue."""

    def __init__(self) -> None:
        self._ready = threading.Event()
        self._ready.set()

    def start(self) -> None:
        self._ready = threading.Event()
        threading.Timer(0.02, self._ready.set).start()

    def wait(self) -> None:
        self._ready.wait()


def test_an_asynchronous_device_is_waited_for() -> None:
    device = AsyncDevice()
    settings = MeasureSettings(warm_up_s=0.05, measure_s=0.3, least_samples=5)
    timed = measure(device.start, synchronise=device.wait, settings=settings)
    assert min(timed.samples_ms) >= 20
    assert min(timed.warm_up_ms) >= 20
    assert summarise(timed.samples_ms).median_ms < 60


def test_work_left_over_is_not_the_next_calls_time() -> None:
    device = AsyncDevice()
    device.start()
    started = time.perf_counter()
    measure(lambda: None, synchronise=device.wait, settings=MeasureSettings(0, 0.01, 1, 0.02))
    assert time.perf_counter() - started >= 0.015


class FakeClock:
    def __init__(self, step_s: float) -> None:
        self.now, self.step_s = 0.0, step_s

    def __call__(self) -> float:
        return self.now

    def work(self) -> None:
        self.now += self.step_s


def test_warm_up_goes_by_time_and_is_kept_apart() -> None:
    clock = FakeClock(0.01)
    timed = measure(clock.work, settings=MeasureSettings(1.0, 0.5, 10, 5.0), clock=clock)
    assert len(timed.warm_up_ms) == pytest.approx(100, abs=2)
    assert len(timed.samples_ms) == pytest.approx(50, abs=2)
    slow = FakeClock(1.0)
    few = measure(slow.work, settings=MeasureSettings(0.1, 0.5, 10, 4.0), clock=slow)
    assert len(few.samples_ms) == 4  # the longest time ends it


def test_percentiles_by_the_sample_rule() -> None:
    rng = np.random.default_rng(0)
    assert summarise(rng.random(30)).p99_ms is None
    assert summarise(rng.random(30)).p95_ms is not None
    assert summarise(rng.random(19)).p95_ms is None
    assert summarise(rng.random(9)).p90_ms is None
    assert summarise(rng.random(100)).p99_ms is not None
    assert summarise([]).median_ms is None
    assert summarise([5.0]).median_ms == 5


def test_drift_of_1_ms_a_minute_is_flagged() -> None:
    """20 ms a call for 5 minutes, 1 ms slower each minute."""
    starts = np.arange(0, 300, 0.5)
    samples = 20 + starts / 60 + np.random.default_rng(0).normal(0, 0.2, len(starts))
    verdict = judge_stability(samples, starts)
    assert not verdict.stable
    assert verdict.reasons[0].startswith("drift")
    assert verdict.slope_ms_per_min == pytest.approx(1, abs=0.05)
    steady = judge_stability(20 + np.random.default_rng(1).normal(0, 0.2, 600), starts)
    assert steady.stable
    assert steady.reasons == ()


def test_throttling_power_mode_and_other_work_are_told() -> None:
    starts = np.arange(100) * 0.02
    samples = np.full(100, 20.0)
    before = DeviceState(1300, 55, (), "MAXN")
    hot = judge_stability(samples, starts, before=before, after=DeviceState(900, 97, ("thermal",), "MAXN"))
    assert hot.reasons == ("throttled: thermal", "throttled: the clock fell from 1300 to 900 MHz at 97 C")
    moved = judge_stability(samples, starts, before=before, after=DeviceState(1300, 55, (), "15W"))
    assert "power mode changed from MAXN to 15W" in moved.reasons[0]
    samples[::10] = 90
    assert "other work" in judge_stability(samples, starts).reasons[0]
    assert "only 5 samples" in judge_stability(samples[:5], starts[:5]).reasons[0]


def test_trolley_speed_by_hand() -> None:
    """512 px tiles with 96 px overlap, 720 px high: 2 rows; 1280 px a metre: 2 x 2 x 1280 / 416 tiles a metre."""
    speed = trolley_speed(20.0, 512, TrolleySettings())
    assert speed.tiles_per_metre == pytest.approx(4 * 1280 / 416)
    assert speed.highest_speed_m_s == pytest.approx(20 / (4 * 1280 / 416))
    assert speed.real_time_factor == pytest.approx(0.25 / speed.highest_speed_m_s)
    with pytest.raises(MeasurementError):
        trolley_speed(20.0, 64, TrolleySettings())


def test_roofline() -> None:
    roof = measure_roofline()
    assert roof.peak_gmac_s > 0.1
    assert roof.copy_gb_s > 0.1
    assert place(Roofline(100.0, 10.0), 3e9, 60.0).fraction_of_peak == pytest.approx(0.5)


def test_settings_are_checked() -> None:
    with pytest.raises(MeasurementError):
        MeasureSettings(measure_s=0)
    with pytest.raises(MeasurementError):
        TrolleySettings(px_per_metre=0)
