"""One line of tegrastats, of any Jetson from TX2 to Thor and JetPack 4 to 7."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_RAM = re.compile(r"\bRAM (\d+)/(\d+)\s*MB")
_SWAP = re.compile(r"\bSWAP (\d+)/(\d+)\s*MB")
_CPU = re.compile(r"\bCPU \[([^\]]*)\]")
_CORE = re.compile(r"(\d+)%@(\d+)")
_GPU = re.compile(r"\bGR3D_FREQ (\d+)%(?:@\[?(\d+)(?:,(\d+))*\]?)?")
_TEMPERATURE = re.compile(r"\b([A-Za-z][A-Za-z0-9_-]*)@(-?\d+(?:\.\d+)?)C")
_RAIL = re.compile(r"\b([A-Z][A-Z0-9_]*) (\d+)(mW)?/(\d+)(?:mW)?(?=\s|$)")
INPUT_RAILS = ("VDD_IN", "POM_5V_IN", "VIN")
"""Rails through which the whole board is fed: TX2, Xavier NX, Orin NX and Nano; Nano; Thor."""
SUMMED_RAILS = (
    frozenset({"VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"}),
    frozenset({"GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"}),
)
"""AGX Orin and AGX Xavier have no sensor of their input: these rails together feed the board."""
FIXED_SENSORS = frozenset({"pmic"})
"""Reads 100 C on TX2, Nano and Xavier whatever the temperature is."""


@dataclass(frozen=True)
class TegraLine:
    """What one line says; None (or empty) where it does not."""

    ram_used_mb: int | None
    ram_total_mb: int | None
    swap_used_mb: int | None
    cpu_load: tuple[float, ...]
    """Share of each core that is on, 0 to 1."""
    cpu_mhz: tuple[float, ...]
    gpu_load: float | None
    gpu_mhz: float | None
    temperatures_c: Mapping[str, float]
    """Sensors in lower case; a sensor that is off (-256 C) is left out."""
    rails_w: Mapping[str, float]
    """Power now, by rail, in watts."""

    @property
    def board_rails(self) -> tuple[str, ...]:
        """The rails whose sum is the board's power; empty where the line has none such."""
        for name in INPUT_RAILS:
            if name in self.rails_w:
                return (name,)
        return next((tuple(sorted(rails)) for rails in SUMMED_RAILS if rails <= self.rails_w.keys()), ())

    @property
    def temperature_c(self) -> float | None:
        """Of the GPU, or of the next best sensor; None where none of them tells it."""
        warm = self.temperatures_c
        return next((warm[name] for name in ("gpu", "tj", "cpu") if name in warm), None)

    @property
    def board_w(self) -> float | None:
        """Power of the whole board; None where no rail tells it."""
        rails = self.board_rails
        return sum(self.rails_w[name] for name in rails) if rails else None


def parse_tegrastats(line: str) -> TegraLine | None:
    """Read a line; None where it is none (a header, an empty or a cut line without RAM)."""
    ram = _RAM.search(line)
    if ram is None:
        return None
    swap, cpu, gpu = _SWAP.search(line), _CPU.search(line), _GPU.search(line)
    cores = _CORE.findall(cpu[1]) if cpu else []
    temperatures = {name.lower(): float(value) for name, value in _TEMPERATURE.findall(line)}
    rails = {name: int(now) / 1e3 for name, now, _, _ in _RAIL.findall(line)}
    return TegraLine(
        int(ram[1]), int(ram[2]), int(swap[1]) if swap else None,
        tuple(int(load) / 100 for load, _ in cores), tuple(float(mhz) for _, mhz in cores),
        int(gpu[1]) / 100 if gpu else None, float(gpu[2]) if gpu and gpu[2] else None,
        {name: value for name, value in temperatures.items() if value > -100 and name not in FIXED_SENSORS}, rails,
    )  # fmt: skip
