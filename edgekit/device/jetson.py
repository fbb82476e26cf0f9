"""A Jetson: sysfs for power, temperature and clocks, nvpmodel for the mode, tegrastats where sysfs does not tell."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path
from typing import TypeAlias

import psutil

from edgekit.device.reading import Reading
from edgekit.device.tegrastats import INPUT_RAILS, SUMMED_RAILS, TegraLine
from edgekit.device.tegrastats_process import Tegrastats, open_tegrastats

_Measured: TypeAlias = tuple[float | None, float | None, float | None]
"""Watts, degrees Celsius, MHz; None where the board does not tell."""
_MODE = re.compile(r"NV Power Mode:\s*(\S+)")
_ZONES = ("gpu-thermal", "gpu-therm", "GPU-therm", "tj-thermal", "CPU-therm", "cpu-thermal")
"""Thermal zones that matter, the best first; their names changed from JetPack 4 to 7."""


def parse_nvpmodel(text: str) -> str | None:
    """Name of the power mode in the output of `nvpmodel -q`; None where it names none.

    The name and not the number: numbers mean different modes on different modules.
    """
    found = _MODE.search(text)
    return found[1].removeprefix("MODE_") if found else None


def read_rails(root: Path) -> dict[str, float]:
    """Power of every labelled INA3221 rail, watts, from hwmon (JetPack 5 on) or the iio driver (JetPack 4).

    Args:
        root: the file system's root; for tests.
    """
    rails: dict[str, float] = {}
    for label in sorted(root.glob("sys/bus/i2c/drivers/ina3221*/*/hwmon/hwmon*/in*_label")):
        number = re.sub(r"\D", "", label.name)
        volts, amperes = (_number(label.with_name(f"{kind}{number}_input")) for kind in ("in", "curr"))
        name = _text(label)
        if volts is not None and amperes is not None and name.lower() != "sum of shunt voltages":
            rails[name] = volts * amperes / 1e6
    for label in sorted(root.glob("sys/bus/i2c/drivers/ina3221x/*/iio:device*/rail_name_*")):
        milliwatts = _number(label.with_name(f"in_power{label.name.rsplit('_', 1)[1]}_input"))
        if milliwatts is not None:
            rails[_text(label)] = milliwatts / 1e3
    return rails


def board_power_w(rails: dict[str, float]) -> float | None:
    """Power of the board from its rails: the input rail, or the sum of those that feed it."""
    return TegraLine(None, None, None, (), (), None, None, {}, rails).board_w


def read_temperatures_c(root: Path = Path("/")) -> dict[str, float]:
    """Every thermal zone that is on, by its name; zones of one name tell the hottest.

    Args:
        root: the file system's root; for tests.
    """
    zones: dict[str, float] = {}
    for zone in sorted(root.glob("sys/class/thermal/thermal_zone*")):
        name, millidegrees = _text(zone / "type"), _number(zone / "temp")
        if name and millidegrees is not None and millidegrees > -100_000:  # a zone that is off reads -256 degrees
            zones[name] = max(millidegrees / 1e3, zones.get(name, -273.0))
    return zones


def read_temperature_c(root: Path) -> float | None:
    """The GPU's zone, or the next best; None where no zone is known."""
    zones = read_temperatures_c(root)
    return next((zones[name] for name in _ZONES if name in zones), None)


def read_gpu_clock_mhz(root: Path) -> float | None:
    """The GPU's clock from devfreq; its folder is named after the chip's address and driver."""
    for pattern in ("*.gpu", "*.gv11b", "*.gp10b", "*.gm20b", "*.ga10b", "gpu*"):
        for folder in sorted(root.glob(f"sys/class/devfreq/{pattern}")):
            hertz = _number(folder / "cur_freq")
            if hertz is not None:
                return hertz / 1e6
    return None


def read_throttling(root: Path) -> tuple[str, ...]:
    """Over-current alarms that have fired and cooling devices that are active on the GPU or the processor."""
    counters = sorted(root.glob("sys/class/hwmon/hwmon*/oc*_event_cnt"))
    reasons = [f"over-current ({file.name.split('_')[0]})" for file in counters if (_number(file) or 0) > 0]
    for device in sorted(root.glob("sys/class/thermal/cooling_device*")):
        kind = _text(device / "type")
        if "throttle" in kind.lower() and (_number(device / "cur_state") or 0) > 0:
            reasons.append(f"thermal ({kind})")
    return tuple(reasons)


class JetsonProbe:
    """The board that edgekit runs on.

    Args:
        model: name of the board, from the device tree.
        root: the file system's root; for tests.
    """

    source = "sysfs"
    period_s = 0.1

    def __init__(self, model: str, *, root: Path = Path("/")) -> None:
        self.name, self._root = model, root
        self.missing: dict[str, str] = {}
        self.power_mode = self._mode()
        self._process = psutil.Process()
        self._stats: Tegrastats | None = None
        if None in self._from_sysfs():
            self._stats = open_tegrastats()
            self.source = "sysfs and tegrastats" if self._stats else "sysfs"
        power_w, temperature_c, clock_mhz = self._measured()
        if power_w is None:
            reason = f"no rail of {', '.join(INPUT_RAILS)} (or of {' + '.join(sorted(SUMMED_RAILS[0]))}) is readable"
            self.missing |= {"power": reason, "energy": reason}
        for quantity, value in (("temperature", temperature_c), ("clock", clock_mhz)):
            if value is None:
                self.missing[quantity] = f"not in {self.source} on this board"
        self.missing["device memory"] = "host and GPU share one memory on a Jetson"

    def read(self) -> Reading:
        """One reading, now."""
        power_w, temperature_c, clock_mhz = self._measured()
        return Reading(
            time.monotonic(), power_w, None, self._process.memory_info().rss / 2**20,
            temperature_c, clock_mhz, self._load(), read_throttling(self._root),
        )  # fmt: skip

    def close(self) -> None:
        """End tegrastats, where it was asked."""
        if self._stats is not None:
            self._stats.close()

    def _measured(self) -> _Measured:
        """Power, temperature and clock, from tegrastats where sysfs does not tell."""
        found = self._from_sysfs()
        line = None if self._stats is None else self._stats.now()
        if line is None:
            return found
        told = (line.board_w, line.temperature_c, line.gpu_mhz)
        power_w, temperature_c, clock_mhz = (
            other if value is None else value for value, other in zip(found, told, strict=True)
        )
        return power_w, temperature_c, clock_mhz

    def _from_sysfs(self) -> _Measured:
        power_w = board_power_w(read_rails(self._root))
        return power_w, read_temperature_c(self._root), read_gpu_clock_mhz(self._root)

    def _load(self) -> float | None:
        for pattern in (
            "sys/devices/gpu.0/load",
            "sys/devices/platform/*gpu*/load",
            "sys/devices/platform/bus@0/*gpu/load",
        ):
            for file in self._root.glob(pattern):
                value = _number(file)
                if value is not None:
                    return value / 1000
        return None

    def _mode(self) -> str | None:
        try:
            answer = subprocess.run(["nvpmodel", "-q"], capture_output=True, text=True, timeout=5, check=False)
        except (OSError, subprocess.TimeoutExpired):
            self.missing["power mode"] = "nvpmodel is not there or does not answer"
            return None
        return parse_nvpmodel(answer.stdout)


def _number(file: Path) -> float | None:
    try:
        return float(file.read_text())
    except (OSError, ValueError):
        return None


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
