"""Readings on the board: a Jetson by its files, a GPU and a host, sensors that fail."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from boards import two_cameras

from edgekit.device.host import HostProbe
from edgekit.device.jetson import JetsonProbe
from edgekit.device.reading import Reading
from edgekit.runtime.watch.device_watch import DeviceWatch, read_device


def write(root: Path, files: dict[str, object]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


def test_a_jetson_tells_every_zone_its_power_and_its_throttling(tmp_path: Path) -> None:
    hwmon = "sys/bus/i2c/drivers/ina3221/1-0040/hwmon/hwmon3"
    zones = "sys/class/thermal/thermal_zone"
    write(tmp_path, {
        f"{hwmon}/in1_label": "VDD_IN", f"{hwmon}/in1_input": 5000, f"{hwmon}/curr1_input": 1600,
        f"{zones}0/type": "cpu-thermal", f"{zones}0/temp": 48000, f"{zones}1/type": "gpu-thermal",
        f"{zones}1/temp": 51500, f"{zones}2/type": "cv0-thermal", f"{zones}2/temp": -256000,
        "sys/class/thermal/cooling_device4/type": "gpu-throttle", "sys/class/thermal/cooling_device4/cur_state": 1,
    })  # fmt: skip
    status = read_device(JetsonProbe("Jetson", root=tmp_path), tmp_path, root=tmp_path)
    assert status.temperatures_c == {"cpu-thermal": 48.0, "gpu-thermal": 51.5}
    assert status.power_w == pytest.approx(8.0)
    assert status.throttling == ("thermal (gpu-throttle)",)
    assert 0 < status.free_bytes <= status.total_bytes
    assert status.memory_mb > 1


def test_what_is_missing_has_its_reason(tmp_path: Path) -> None:
    status = read_device(HostProbe(rapl_root=tmp_path), tmp_path / "gone", root=tmp_path)
    assert (status.power_w, status.free_bytes) == (None, None)
    assert status.missing["power"] == "this machine has no RAPL"
    assert "No such file" in status.missing["free space"]


def test_a_gpu_is_named_beside_the_zones(tmp_path: Path) -> None:
    write(tmp_path, {"sys/class/thermal/thermal_zone0/type": "acpitz", "sys/class/thermal/thermal_zone0/temp": 30000})
    probe = SimpleNamespace(source="NVML", power_mode=None, missing={"temperature": "x"},
                            read=lambda: Reading(0.0, 71.5, temperature_c=61.0))  # fmt: skip
    status = read_device(probe, tmp_path, root=tmp_path)
    assert status.temperatures_c == {"gpu": 61.0, "acpitz": 30.0}
    assert "temperature" not in status.missing


def test_a_sensor_that_fails_is_tried_again(tmp_path: Path, caplog) -> None:
    board, calls, seen = two_cameras(), [], threading.Event()

    def read() -> Reading:
        calls.append(1)
        if len(calls) == 1:
            raise OSError("the I2C bus does not answer")
        seen.set()
        return Reading(0.0, 5.0)

    closed = []
    probe = SimpleNamespace(source="sysfs", power_mode="15W", missing={}, read=read, close=lambda: closed.append(1))
    with DeviceWatch(board, tmp_path, make_probe=lambda: probe, period_s=0.01):
        assert seen.wait(5)
    assert board.snapshot().device.power_w == 5.0
    assert "the I2C bus does not answer" in caplog.text
    assert closed == [1]
