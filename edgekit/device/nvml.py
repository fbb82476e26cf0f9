"""A desktop GPU by NVML (nvidia-ml-py, which needs no CUDA)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, TypeVar

import psutil

from edgekit.device.reading import Reading
from edgekit.errors import MissingDependencyError, ProviderError

Value = TypeVar("Value")
THROTTLING = {
    "nvmlClocksEventReasonSwPowerCap": "power cap",
    "nvmlClocksThrottleReasonHwSlowdown": "hardware slowdown",
    "nvmlClocksEventReasonSwThermalSlowdown": "thermal slowdown",
    "nvmlClocksThrottleReasonHwThermalSlowdown": "thermal slowdown (hardware)",
    "nvmlClocksThrottleReasonHwPowerBrakeSlowdown": "power brake",
}
"""Reasons that mean the GPU was held back; idle and chosen clocks are none."""


class NvmlProbe:
    """One NVIDIA GPU.

    Args:
        index: number of the GPU.
        library: the pynvml module; for tests.

    Raises:
        MissingDependencyError: nvidia-ml-py is not installed.
        ProviderError: no driver or no such GPU.
    """

    source = "NVML"
    power_mode: str | None = None
    period_s = 0.05

    def __init__(self, index: int = 0, *, library: Any = None) -> None:
        self._nvml = library if library is not None else _pynvml()
        try:
            self._nvml.nvmlInit()
            self._gpu = self._nvml.nvmlDeviceGetHandleByIndex(index)
        except self._nvml.NVMLError as error:
            raise ProviderError(
                f"no NVIDIA GPU {index}: {error}", mend="install the driver, or bench the CPU"
            ) from error
        self.missing: dict[str, str] = {}
        name = self._ask("name", self._nvml.nvmlDeviceGetName)
        self.name = name.decode() if isinstance(name, bytes) else str(name)
        self._process = psutil.Process()

    def read(self) -> Reading:
        """One reading, now."""
        nvml = self._nvml
        milliwatts = self._ask("power", nvml.nvmlDeviceGetPowerUsage)
        clock = self._ask("clock", lambda gpu: nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM))
        warm = self._ask("temperature", lambda gpu: nvml.nvmlDeviceGetTemperature(gpu, nvml.NVML_TEMPERATURE_GPU))
        load = self._ask("load", nvml.nvmlDeviceGetUtilizationRates)
        return Reading(
            time.monotonic(), None if milliwatts is None else milliwatts / 1e3, self._memory_mb(),
            self._process.memory_info().rss / 2**20, None if warm is None else float(warm),
            None if clock is None else float(clock), None if load is None else load.gpu / 100, self._reasons(),
        )  # fmt: skip

    def close(self) -> None:
        """Let go of NVML."""
        self._nvml.nvmlShutdown()

    def _ask(self, quantity: str, question: Callable[[Any], Value]) -> Value | None:
        try:
            return question(self._gpu)
        except self._nvml.NVMLError as error:
            self.missing[quantity] = f"the GPU does not say: {error}"
            return None

    def _memory_mb(self) -> float | None:
        """This process's memory on the GPU; all that is in use where it cannot be told apart (in containers)."""
        for process in self._ask("processes", self._nvml.nvmlDeviceGetComputeRunningProcesses) or ():
            if process.pid == os.getpid() and process.usedGpuMemory:
                return float(process.usedGpuMemory) / 2**20
        memory = self._ask("device memory", self._nvml.nvmlDeviceGetMemoryInfo)
        return None if memory is None else float(memory.used) / 2**20

    def _reasons(self) -> tuple[str, ...]:
        bits = self._ask("throttling", self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons) or 0
        return tuple(text for name, text in THROTTLING.items() if bits & getattr(self._nvml, name, 0))


def _pynvml() -> Any:
    try:
        import pynvml  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise MissingDependencyError("nvidia-ml-py is not installed", mend="pip install 'edgekit[bench]'") from error
    return pynvml
