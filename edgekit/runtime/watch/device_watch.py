"""Readings of the device for the board: temperatures, power, throttling, memory, free space."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from edgekit.device.choose import choose_probe
from edgekit.device.jetson import read_temperatures_c
from edgekit.device.reading import DeviceProbe
from edgekit.environment import read_environment
from edgekit.runtime.watch.board import StatusBoard
from edgekit.runtime.watch.snapshot import DeviceStatus

PERIOD_S = 5.0
"""Seconds between two readings: a board warms up and a disk fills over minutes; one reading takes 0.4 ms on a host
(python bench/watch/cost.py)."""
_log = logging.getLogger(__name__)


def read_device(probe: DeviceProbe, folder: Path, *, root: Path = Path("/")) -> DeviceStatus:
    """One reading. What cannot be read is missing, with the reason.

    Args:
        probe: the board's, the GPU's or the processor's.
        folder: where the runs are kept; its file system's free space is told.
        root: the file system's root, for the thermal zones; for tests.
    """
    missing = dict(probe.missing)
    temperatures = read_temperatures_c(root)
    free = total = None
    try:
        usage = shutil.disk_usage(folder)
        free, total = usage.free, usage.total
    except OSError as error:
        missing["free space"] = f"{folder}: {error.strerror}"
    reading = probe.read()
    if reading.temperature_c is not None and probe.source != "sysfs":  # a Jetson's is one of its zones
        temperatures = {"gpu" if probe.source == "NVML" else "cpu": reading.temperature_c, **temperatures}
    if temperatures:
        missing.pop("temperature", None)
    return DeviceStatus(
        temperatures_c=temperatures, power_w=reading.power_w, power_mode=probe.power_mode, free_bytes=free,
        total_bytes=total, memory_mb=reading.host_memory_mb, throttling=reading.throttle_reasons, missing=missing,
    )  # fmt: skip


class DeviceWatch:
    """A thread that puts the device's readings on the board. A sensor that fails is logged, and tried again.

    Args:
        board: the run.
        folder: where the runs are kept.
        provider: what the model runs on, so that the GPU is read where one is used.
        make_probe: for tests; None: the right one for this machine.
        period_s: seconds between two readings.
    """

    def __init__(
        self,
        board: StatusBoard,
        folder: Path,
        *,
        provider: str = "cpu",
        make_probe: Callable[[], DeviceProbe] | None = None,
        period_s: float = PERIOD_S,
    ) -> None:
        self._board, self._folder, self._period_s = board, folder, period_s
        self._make_probe = make_probe or (lambda: choose_probe(read_environment(), provider)[0])
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="device", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End; calling it twice does no harm."""
        self._ended.set()
        self._thread.join()

    def __enter__(self) -> DeviceWatch:
        """The watch itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        self.close()

    def _run(self) -> None:
        probe = self._make_probe()
        try:
            while not self._ended.is_set():
                try:
                    self._board.device(read_device(probe, self._folder))
                except Exception as error:  # sensors fail in many ways; the run must not
                    _log.warning("cannot read the device: %s", error)
                self._ended.wait(self._period_s)
        finally:
            probe.close()
