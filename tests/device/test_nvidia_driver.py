"""Whether there is a GPU, by the driver alone."""

from __future__ import annotations

import ctypes.util

import pytest

from edgekit.device import nvidia_driver
from edgekit.device.nvidia_driver import has_nvidia_gpu


class FakeDriver:
    """Answers as libcuda does: 0 is success, 100 is CUDA_ERROR_NO_DEVICE."""

    def __init__(self, init: int, gpus: int) -> None:
        self.init, self.gpus = init, gpus

    def cuInit(self, flags: int) -> int:
        return self.init

    def cuDeviceGetCount(self, count) -> int:
        count._obj.value = self.gpus
        return 0


def test_a_driver_that_is_not_there_or_is_another_library_is_no_gpu(tmp_path):
    assert not has_nvidia_gpu(str(tmp_path / "libcuda.so.1"))
    (tmp_path / "text.so").write_text("no library")
    assert not has_nvidia_gpu(str(tmp_path / "text.so"))
    assert not has_nvidia_gpu(ctypes.util.find_library("m") or "libm.so.6")


@pytest.mark.parametrize(("init", "gpus", "there"), [(0, 1, True), (0, 0, False), (100, 0, False)])
def test_the_driver_is_asked(monkeypatch, init, gpus, there):
    monkeypatch.setattr(nvidia_driver.ctypes, "CDLL", lambda _: FakeDriver(init, gpus))
    assert has_nvidia_gpu() is there
