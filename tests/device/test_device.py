"""Parsers on lines and files of every Jetson generation; NVML and RAPL on fakes."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from edgekit.device.host import RaplMeter
from edgekit.device.jetson import (
    JetsonProbe,
    board_power_w,
    parse_nvpmodel,
    read_gpu_clock_mhz,
    read_rails,
    read_temperature_c,
    read_throttling,
)
from edgekit.device.nvml import NvmlProbe
from edgekit.device.tegrastats import parse_tegrastats
from edgekit.environment import parse_l4t, read_environment
from edgekit.errors import ProviderError

TX2 = (
    "RAM 1025/7860MB (lfb 1316x4MB) SWAP 0/3930MB (cached 0MB) CPU [1%@345,off,off,0%@345,2%@345,1%@345] EMC_FREQ 0% "
    "GR3D_FREQ 12% PLL@34C MCPU@34C PMIC@100C Tboard@30C GPU@32.5C BCPU@34C thermal@33.3C Tdiode@31.5C "
    "VDD_SYS_GPU 152/152 VDD_SYS_SOC 533/533 VDD_4V0_WIFI 0/0 VDD_IN 2893/2893 VDD_SYS_CPU 228/228 VDD_SYS_DDR 494/494"
)
NANO = (
    "RAM 2102/3956MB (lfb 2x4MB) SWAP 23/1978MB (cached 1MB) IRAM 0/252kB(lfb 252kB) CPU [25%@1479,18%@1479,off,off] "
    "EMC_FREQ 3%@1600 GR3D_FREQ 99%@921 VIC_FREQ 0%@140 APE 25 PLL@32C CPU@35.5C PMIC@100C GPU@33C AO@41C "
    "thermal@34.25C POM_5V_IN 5022/4900 POM_5V_GPU 1639/1500 POM_5V_CPU 1004/1000"
)
XAVIER_AGX = (
    "RAM 2719/31928MB (lfb 6798x4MB) SWAP 0/15964MB (cached 0MB) CPU [9%@1190,3%@1190,0%@1190,0%@1190,0%@1190,1%@1190,"
    "0%@1190,0%@1190] EMC_FREQ 1%@1331 GR3D_FREQ 0%@318 APE 150 MTS fg 0% bg 0% AO@36.5C GPU@37C Tdiode@40.25C "
    "PMIC@100C AUX@36C CPU@37C thermal@36.65C Tboard@37C GPU 0/0 CPU 621/621 SOC 932/932 CV 0/0 VDDRQ 155/155 "
    "SYS5V 1442/1442"
)
ORIN_AGX = (
    "08-28-2023 10:21:52 RAM 4130/30588MB (lfb 4904x4MB) SWAP 0/15294MB (cached 0MB) CPU [0%@729,0%@729,off,off] "
    "EMC_FREQ 0%@2133 GR3D_FREQ 37%@[1300,1300] VIC_FREQ 729 APE 174 CV0@-256C CPU@46.5C Tboard@36C SOC2@42.8C "
    "Tdiode@37.5C SOC0@43.6C CV1@-256C GPU@-256C tj@46.5C SOC1@42.5C CV2@-256C VDD_GPU_SOC 2395mW/2395mW "
    "VDD_CPU_CV 798mW/798mW VIN_SYS_5V0 3027mW/3027mW NC 0mW/0mW VDDQ_VDD2_1V8AO 503mW/503mW NC 0mW/0mW"
)
ORIN_NX = (
    "04-09-2024 12:00:01 RAM 3019/15523MB (lfb 2x4MB) SWAP 5/7761MB (cached 0MB) CPU [0%@1984,5%@1984] EMC_FREQ "
    "0%@3199 GR3D_FREQ 98%@[764] NVDEC off NVJPG off VIC off OFA off APE 200 cpu@48.4C soc2@46.9C soc0@46.4C "
    "gpu@47.5C tj@48.4C soc1@46C VDD_IN 8914mW/8000mW VDD_CPU_GPU_CV 3180mW/3000mW VDD_SOC 1960mW/1900mW"
)
THOR = (
    "09-02-2025 15:32:11 RAM 6513/125771MB (lfb 24x4MB) SWAP 0/0MB (cached 0MB) CPU [0%@972,1%@972,0%@972] GR3D_FREQ "
    "64%@[1575,1575,1574] cpu@38.5C tj@41.2C soc012@39.4C soc345@41.2C gpu@40.1C VDD_GPU 3194mW/3194mW "
    "VDD_CPU_SOC_MSS 6387mW/6387mW VIN_SYS_5V0 5127mW/5127mW VIN 20563mW/20563mW"
)


@pytest.mark.parametrize(("line", "expected"), [
    (TX2, (1025, 7860, 2.893, ("VDD_IN",), 0.12, None, 32.5, 4)),
    (NANO, (2102, 3956, 5.022, ("POM_5V_IN",), 0.99, 921, 33, 2)),
    (XAVIER_AGX, (2719, 31928, 3.15, ("CPU", "CV", "GPU", "SOC", "SYS5V", "VDDRQ"), 0, 318, 37, 8)),
    (ORIN_AGX, (4130, 30588, 6.22, ("VDD_CPU_CV", "VDD_GPU_SOC", "VIN_SYS_5V0"), 0.37, 1300, None, 2)),
    (ORIN_NX, (3019, 15523, 8.914, ("VDD_IN",), 0.98, 764, 47.5, 2)),
    (THOR, (6513, 125771, 20.563, ("VIN",), 0.64, 1575, 40.1, 3)),
], ids=["tx2", "nano", "xavier", "orin", "orin_nx", "thor"])  # fmt: skip
def test_tegrastats(line, expected) -> None:
    used, total, watts, rails, load, mhz, gpu, cores = expected
    parsed = parse_tegrastats(line)
    assert (parsed.ram_used_mb, parsed.ram_total_mb) == (used, total)
    assert parsed.board_w == pytest.approx(watts)
    assert parsed.board_rails == rails
    assert (parsed.gpu_load, parsed.gpu_mhz) == (load, mhz)
    assert parsed.temperatures_c.get("gpu") == gpu
    assert "pmic" not in parsed.temperatures_c
    assert len(parsed.cpu_load) == cores


@pytest.mark.parametrize("line", ["", "tegrastats: command not found", TX2[:20], "RAM ?/?MB"])
def test_cut_and_foreign_lines(line) -> None:
    parsed = parse_tegrastats(line)
    assert parsed is None or parsed.board_w is None


def test_orin_without_gpu_sensor_uses_the_junction() -> None:
    assert parse_tegrastats(ORIN_AGX).temperature_c == 46.5


def test_what_sysfs_does_not_show_comes_from_tegrastats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "tegrastats"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho header\nwhile :; do echo '{THOR}'; sleep 0.1; done\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    write(tmp_path, {"sys/class/thermal/thermal_zone1/type": "gpu-thermal",
                     "sys/class/thermal/thermal_zone1/temp": 51500})  # fmt: skip
    probe = JetsonProbe("Jetson Thor", root=tmp_path)
    reading = probe.read()
    assert (reading.power_w, reading.temperature_c, reading.clock_mhz) == (pytest.approx(20.563), 51.5, 1575)
    assert probe.source == "sysfs and tegrastats"
    assert not {"power", "energy", "temperature", "clock"} & probe.missing.keys()
    probe.close()
    monkeypatch.setattr("edgekit.device.tegrastats_process.STALE_S", 0.0)
    assert probe.read().power_w is None  # what was told once is not told for ever


def test_a_tegrastats_that_says_nothing_leaves_the_reasons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tegrastats").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(tmp_path))
    probe = JetsonProbe("Jetson", root=tmp_path)
    assert "power" in probe.missing
    assert probe.missing["clock"] == "not in sysfs and tegrastats on this board"
    probe.close()


def test_nvpmodel() -> None:
    assert parse_nvpmodel("NV Fan Mode:quiet\nNV Power Mode: MODE_30W\n2\n") == "30W"
    assert parse_nvpmodel("NV Power Mode: MAXN\n0\n") == "MAXN"
    assert parse_nvpmodel("nvpmodel: not found") is None


def test_l4t() -> None:
    assert parse_l4t("# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic") == "36.4.3"
    assert parse_l4t("Ubuntu") is None


def write(root: Path, files: dict[str, object]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


def test_sysfs_of_an_orin_nx(tmp_path: Path) -> None:
    hwmon = "sys/bus/i2c/drivers/ina3221/1-0040/hwmon/hwmon3"
    write(tmp_path, {
        f"{hwmon}/in1_label": "VDD_IN", f"{hwmon}/in1_input": 5064, f"{hwmon}/curr1_input": 1600,
        f"{hwmon}/in2_label": "VDD_SOC", f"{hwmon}/in2_input": 5064, f"{hwmon}/curr2_input": 300,
        f"{hwmon}/in7_label": "sum of shunt voltages", f"{hwmon}/in7_input": 3, f"{hwmon}/curr7_input": 1,
        "sys/class/thermal/thermal_zone0/type": "cpu-thermal", "sys/class/thermal/thermal_zone0/temp": 48000,
        "sys/class/thermal/thermal_zone1/type": "gpu-thermal", "sys/class/thermal/thermal_zone1/temp": 51500,
        "sys/class/devfreq/17000000.gpu/cur_freq": 765000000,
        "sys/class/hwmon/hwmon1/oc1_event_cnt": 0, "sys/class/hwmon/hwmon1/oc3_event_cnt": 2,
        "sys/class/thermal/cooling_device3/type": "hot-surface", "sys/class/thermal/cooling_device3/cur_state": 1,
        "sys/class/thermal/cooling_device4/type": "gpu-throttle", "sys/class/thermal/cooling_device4/cur_state": 1,
        "proc/device-tree/model": "NVIDIA Jetson Orin NX Engineering Reference Developer Kit\0",
        "etc/nv_tegra_release": "# R36 (release), REVISION: 4.3, GCID: 1",
    })  # fmt: skip
    assert board_power_w(read_rails(tmp_path)) == pytest.approx(8.1024)
    assert read_temperature_c(tmp_path) == 51.5
    assert read_gpu_clock_mhz(tmp_path) == 765
    assert read_throttling(tmp_path) == ("over-current (oc3)", "thermal (gpu-throttle)")
    environment = read_environment(root=tmp_path)
    assert environment.is_jetson
    assert (environment.jetpack, environment.l4t) == (6, "36.4.3")
    probe = JetsonProbe(environment.board, root=tmp_path)
    assert probe.read().power_w == pytest.approx(8.1024)
    assert "power" not in probe.missing


def test_sysfs_of_jetpack_4(tmp_path: Path) -> None:
    iio = "sys/bus/i2c/drivers/ina3221x/6-0040/iio:device0"
    write(tmp_path, {f"{iio}/rail_name_0": "POM_5V_IN", f"{iio}/in_power0_input": 3012,
                     "sys/class/devfreq/57000000.gpu/cur_freq": 921600000})  # fmt: skip
    assert board_power_w(read_rails(tmp_path)) == pytest.approx(3.012)
    assert read_gpu_clock_mhz(tmp_path) == pytest.approx(921.6)


def test_what_a_board_does_not_give_has_a_reason(tmp_path: Path) -> None:
    probe = JetsonProbe("Jetson of the future", root=tmp_path)
    reading = probe.read()
    assert (reading.power_w, reading.temperature_c, reading.clock_mhz) == (None, None, None)
    assert {"power", "energy", "temperature", "clock"} <= probe.missing.keys()


def test_rapl_counts_packages_and_wraps(tmp_path: Path) -> None:
    zones = {"intel-rapl:0": ("package-0", 900), "intel-rapl:0:0": ("core", 5), "intel-rapl:1": ("psys", 7)}
    for zone, (name, count) in zones.items():
        write(tmp_path, {f"{zone}/name": name, f"{zone}/energy_uj": count, f"{zone}/max_energy_range_uj": 999})
    meter = RaplMeter(tmp_path)
    begun = meter._last_s
    (tmp_path / "intel-rapl:0/energy_uj").write_text("100")
    assert meter.power_w(begun + 1.0) == pytest.approx(200e-6)
    with pytest.raises(OSError, match="no RAPL"):
        RaplMeter(tmp_path / "nowhere")


class FakeNvml:
    """The few calls of pynvml that the probe makes."""

    class NVMLError(Exception):
        pass

    NVML_CLOCK_SM, NVML_TEMPERATURE_GPU = 1, 0
    nvmlClocksEventReasonSwPowerCap = 4

    def __init__(self, *, gpu: bool = True) -> None:
        self.gpu = gpu

    def nvmlInit(self) -> None: ...
    def nvmlShutdown(self) -> None: ...

    def nvmlDeviceGetHandleByIndex(self, index):
        if not self.gpu:
            raise self.NVMLError("Driver Not Loaded")
        return index

    def nvmlDeviceGetName(self, gpu):
        return b"NVIDIA RTX 4000"

    def nvmlDeviceGetPowerUsage(self, gpu):
        return 71500

    def nvmlDeviceGetClockInfo(self, gpu, kind):
        return 2100

    def nvmlDeviceGetTemperature(self, gpu, kind):
        return 61

    def nvmlDeviceGetUtilizationRates(self, gpu):
        raise self.NVMLError("Not Supported")

    def nvmlDeviceGetComputeRunningProcesses(self, gpu):
        return [SimpleNamespace(pid=os.getpid(), usedGpuMemory=3 << 20), SimpleNamespace(pid=1, usedGpuMemory=9 << 20)]

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, gpu):
        return 4


def test_nvml_on_a_fake_gpu() -> None:
    probe = NvmlProbe(library=FakeNvml())
    reading = probe.read()
    assert probe.name == "NVIDIA RTX 4000"
    assert (reading.power_w, reading.clock_mhz, reading.temperature_c) == (71.5, 2100, 61)
    assert reading.device_memory_mb == 3
    assert reading.throttle_reasons == ("power cap",)
    assert reading.load is None
    assert "Not Supported" in probe.missing["load"]
    with pytest.raises(ProviderError, match="Driver Not Loaded"):
        NvmlProbe(library=FakeNvml(gpu=False))
