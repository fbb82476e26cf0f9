"""The modules that drive the GPU, imported when an engine is opened and not before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from edgekit.device.nvidia_driver import missing_package
from edgekit.errors import EngineError, ProviderError
from edgekit.segment.tensorrt.api import Cuda

INSTALL = "on a Jetson link the system's package into the environment, elsewhere pip install 'edgekit[tensorrt]'"


@dataclass(frozen=True)
class Modules:
    """What an engine needs."""

    trt: Any
    """The module `tensorrt`."""
    cuda: Cuda
    """The module `pycuda.driver`, its driver started."""


def load_tensorrt() -> Any:
    """The module `tensorrt`.

    Raises:
        MissingDependencyError: it is not installed, or its libraries do not load.
        ProviderError: the same, and there is no GPU for it either.
    """
    try:
        import tensorrt
    except (ImportError, OSError) as error:
        raise missing_package(f"TensorRT cannot be imported: {error}", INSTALL) from error
    if not hasattr(tensorrt, "Builder"):  # an empty folder of that name, such as type stubs leave
        raise missing_package("TensorRT is not installed, only a folder of its name is", INSTALL)
    return tensorrt


def load_cuda() -> Any:
    """The module `pycuda.driver`, its driver started. No context is made.

    Raises:
        MissingDependencyError: pycuda is not installed.
        ProviderError: there is no GPU, or no driver.
    """
    try:
        import pycuda.driver as cuda
    except (ImportError, OSError) as error:
        raise missing_package(f"pycuda cannot be imported: {error}", "pip install 'edgekit[tensorrt]'") from error
    try:
        cuda.init()
        cuda.Device(0)
    except cuda.Error as error:
        raise ProviderError(f"no NVIDIA GPU here ({error})", mend="run it on the device itself") from error
    return cuda


def load_modules() -> Modules:
    """Everything that an engine needs.

    Raises:
        MissingDependencyError: a package is not installed.
        ProviderError: there is no GPU, or no driver.
        EngineError: this TensorRT knows tensors by their numbers only.
    """
    trt = load_tensorrt()
    if not hasattr(trt.ICudaEngine, "num_io_tensors"):
        raise EngineError(f"TensorRT {trt.__version__} is too old to run engines", mend="install 8.5 or newer")
    return Modules(trt, load_cuda())
