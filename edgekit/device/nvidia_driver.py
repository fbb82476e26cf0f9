"""Whether there is an NVIDIA GPU, by its driver alone: no package of the GPU's has to be installed for the answer."""

from __future__ import annotations

import ctypes
import sys

from edgekit.errors import EdgekitError, MissingDependencyError, ProviderError

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


def has_nvidia_gpu(library: str = LIBRARY) -> bool:
    """Whether CUDA's driver is there and knows a GPU (cuInit and cuDeviceGetCount; 0 is CUDA_SUCCESS)."""
    count = ctypes.c_int(0)
    try:
        driver = ctypes.CDLL(library)
        told = driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
    except (OSError, AttributeError):  # no such library, or one that is no driver
        return False
    return told and count.value > 0


def missing_package(what: str, mend: str) -> EdgekitError:
    """The error of a package that drives the GPU and is not there: without a GPU no package helps, so that comes first.

    Args:
        what: what is missing.
        mend: how it is installed.
    """
    if has_nvidia_gpu():
        return MissingDependencyError(what, mend=mend)
    return ProviderError(
        f"no NVIDIA GPU, or no driver for it, here ({what})",
        mend="run this on the machine with the GPU, or use ONNX Runtime (provider cpu)",
    )
