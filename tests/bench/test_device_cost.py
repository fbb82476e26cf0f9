"""What a piece of work costs the device: energy by hand, idle power, a watch on the host."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from edgekit.bench.device.energy import energy_j
from edgekit.bench.device.readings import summarise_readings, watching
from edgekit.device.host import HostProbe
from edgekit.device.reading import Reading


def test_energy_is_an_integral_over_real_stamps() -> None:
    rng = np.random.default_rng(0)
    times = np.sort(np.concatenate([[-0.2, 2.1], rng.uniform(0, 2, 9)]))
    assert energy_j(times, np.full(len(times), 10.0), 0, 2) == pytest.approx(20)
    ramp = np.array([0.0, 0.3, 1.1, 2.0, 3.0])
    assert energy_j(ramp, 5 * ramp, 0, 3) == pytest.approx(22.5)
    assert energy_j([1.0], [10.0], 0.5, 1.5) is None
    assert energy_j([0.0, 1.0, 2.0], [10.0, 10, 10], 0.2, 0.25) is None
    assert energy_j([0.5, 1.0, 2.0], [10.0, 10, 10], 0, 1.5) is None
    assert energy_j([0.0, 0.5, 1.0], [10.0, 10, 10], 0, 1.5) is None


def test_idle_power_is_shown_and_subtracted() -> None:
    probe = SimpleNamespace(name="x", source="y", power_mode="15W", missing={}, period_s=0.1)
    readings = [
        Reading(t, 5.0 if t < 0 else 15.0, temperature_c=40 + t, clock_mhz=1000.0) for t in np.arange(-2, 3, 0.1)
    ]
    result = summarise_readings(probe, readings, 0.0, 2.0)
    assert result.idle_w == 5
    assert result.mean_w == pytest.approx(15, rel=0.02)
    assert result.energy_above_idle_j == pytest.approx(20, rel=0.05)
    short = summarise_readings(probe, readings[:10], 0.0, 2.0)
    assert short.energy_j is None
    assert "do not cover" in short.missing["energy"]


def test_host_probe_reads_and_says_what_is_missing(tmp_path: Path) -> None:
    probe = HostProbe(rapl_root=tmp_path)
    with watching(probe, idle_s=0.3) as watch:
        sum(range(200_000))
    result = watch.summary()
    assert result.peak_host_memory_mb is None or result.peak_host_memory_mb > 1
    assert result.energy_j is None
    assert result.missing["power"] == "this machine has no RAPL"
