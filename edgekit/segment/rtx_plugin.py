"""TensorRT for RTX, which ONNX Runtime gets as a plugin from a package of its own."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import onnxruntime as ort

from edgekit.device.nvidia_driver import missing_package
from edgekit.errors import MissingDependencyError, ProviderError

MODULE = "onnxruntime_ep_nv_tensorrt_rtx"
PACKAGE = "onnxruntime-ep-nv-tensorrt-rtx-cu13"


def rtx_devices() -> list[Any]:
    """The GPUs that TensorRT for RTX can use, as ONNX Runtime's devices; never empty.

    Raises:
        MissingDependencyError: the plugin is not installed, or this ONNX Runtime takes none.
        ProviderError: there is no such GPU, or its driver is too old.
    """
    try:
        plugin: Any = import_module(MODULE)
    except ImportError as error:
        raise missing_package(f"TensorRT for RTX needs {PACKAGE}", f"pip install {PACKAGE}") from error
    if not hasattr(ort, "register_execution_provider_library"):
        raise MissingDependencyError(f"ONNX Runtime {ort.__version__} takes no plugins", mend="install 1.23 or newer")
    name = plugin.get_ep_name()
    if not any(device.ep_name == name for device in ort.get_ep_devices()):
        try:
            ort.register_execution_provider_library(name, plugin.get_library_path())
        except Exception as error:  # ONNX Runtime has no common base class for its errors
            reason = str(error).strip().splitlines()[0]
            raise ProviderError(f"the plugin of TensorRT for RTX does not load: {reason}") from error
    devices = [device for device in ort.get_ep_devices() if device.ep_name == name]
    if not devices:
        raise ProviderError(
            "no NVIDIA RTX GPU with a driver for CUDA 13 here, which TensorRT for RTX needs",
            mend="use provider cpu, or run on the machine with the GPU",
        )
    return devices
