"""The host processor: psutil for memory, clock and load, RAPL for energy where it is readable."""

from __future__ import annotations

import time
from pathlib import Path

import psutil

from edgekit.device.reading import Reading

RAPL = Path("/sys/class/powercap")
THERMAL_NAMES = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "soc_thermal")


class RaplMeter:
    """Package power from RAPL's energy counters, which wrap.

    Args:
        root: the powercap folder; for tests.

    Raises:
        OSError: the counters are not there or not readable (only root may, since CVE-2020-8694).
    """

    def __init__(self, root: Path = RAPL) -> None:
        zones = [zone for zone in sorted(root.glob("*rapl:*")) if _is_package(zone)]
        if not zones:
            raise OSError("no RAPL counters")
        self._zones = [(zone / "energy_uj", int((zone / "max_energy_range_uj").read_text())) for zone in zones]
        self._last = self._counts()
        self._last_s = time.monotonic()

    def power_w(self, now_s: float) -> float | None:
        """Mean power since the last call; None where no time has passed."""
        counts, passed_s = self._counts(), now_s - self._last_s
        spent_uj = sum(
            (new - old) % (limit + 1) for new, old, (_, limit) in zip(counts, self._last, self._zones, strict=True)
        )
        self._last, self._last_s = counts, now_s
        return spent_uj / 1e6 / passed_s if passed_s > 0 else None

    def _counts(self) -> list[int]:
        return [int(file.read_text()) for file, _ in self._zones]


class HostProbe:
    """The processor that edgekit itself runs on."""

    source = "psutil"
    power_mode: str | None = None
    period_s = 0.1

    def __init__(self, *, rapl_root: Path = RAPL) -> None:
        self.name = cpu_name()
        self.missing: dict[str, str] = {"device memory": "the processor has none of its own"}
        self._process = psutil.Process()
        self._rapl: RaplMeter | None = None
        try:
            self._rapl = RaplMeter(rapl_root)
            self.source = "psutil and RAPL"
        except (OSError, ValueError) as error:
            reason = "only root may read RAPL" if isinstance(error, PermissionError) else "this machine has no RAPL"
            self.missing |= {"power": reason, "energy": reason}
        if self._temperature() is None:
            self.missing["temperature"] = "this machine shows no processor temperature"
        if self._clock() is None:
            self.missing["clock"] = "this machine shows no processor clock"
        psutil.cpu_percent(None)

    def read(self) -> Reading:
        """One reading, now."""
        now_s = time.monotonic()
        return Reading(
            now_s,
            self._rapl.power_w(now_s) if self._rapl else None,
            None,
            self._process.memory_info().rss / 2**20,
            self._temperature(),
            self._clock(),
            psutil.cpu_percent(None) / 100,
        )

    def close(self) -> None:
        """Nothing to let go of."""

    def _temperature(self) -> float | None:
        sensors = psutil.sensors_temperatures() if hasattr(psutil, "sensors_temperatures") else {}
        found = [entry.current for name in THERMAL_NAMES for entry in sensors.get(name, ())]
        return max(found, default=None)

    def _clock(self) -> float | None:
        try:
            clock = psutil.cpu_freq()
        except (OSError, NotImplementedError):
            return None
        return float(clock.current) if clock is not None and clock.current else None


def cpu_name(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Model of the processor and its number of logical cores."""
    cores = psutil.cpu_count() or 1
    try:
        lines = cpuinfo.read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model"))]
    return f"{models[0] if models else 'processor'}, {cores} logical cores"


def _is_package(zone: Path) -> bool:
    """Zones within a package (core, uncore, dram) are part of its count; psys counts the board, packages and all."""
    try:
        return (zone / "name").read_text().startswith("package")
    except OSError:
        return False
