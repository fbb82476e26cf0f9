"""CUDA graphs: the kernels of one inference recorded once, and launched with one call from then on.

pycuda does not wrap them, so the driver itself is called; its handles are those that pycuda gives out. The call itself
is all that is gained: hundreds of launches a tile, which a Jetson's processor cores feel.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

DRIVER = "libcuda.so.1"
CAPTURE_OF_THIS_THREAD = 1
"""CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: what other threads do with the GPU meanwhile does not spoil the recording."""


class CaptureError(Exception):
    """A graph was not recorded, and why; never leaves the backend."""


class CudaGraph:
    """A recorded inference. Everything here is called by the thread that owns the CUDA context.

    Args:
        driver: the CUDA driver's library.
        handle: a CUgraphExec.
    """

    def __init__(self, driver: Any, handle: ctypes.c_void_p) -> None:
        self._driver = driver
        self._handle = handle

    def launch(self, stream_handle: int) -> None:
        """Put the inference into a stream.

        Raises:
            CaptureError: the driver refuses.
        """
        _check(self._driver, "cuGraphLaunch", self._handle, ctypes.c_void_p(stream_handle))

    def close(self) -> None:
        """Give its memory back."""
        self._driver.cuGraphExecDestroy(self._handle)


def load_driver() -> Any:
    """The CUDA driver's library.

    Raises:
        CaptureError: it cannot be loaded.
    """
    try:
        return ctypes.CDLL(DRIVER)
    except OSError as error:
        raise CaptureError(f"{DRIVER} cannot be loaded") from error


def capture(driver: Any, stream_handle: int, enqueue: Callable[[], bool]) -> CudaGraph:
    """Record what `enqueue` puts into a stream; nothing of it runs. It must have run once before, not recorded.

    Raises:
        CaptureError: something in it cannot be recorded, such as a loop whose end the processor decides.
    """
    stream = ctypes.c_void_p(stream_handle)
    _check(driver, "cuStreamBeginCapture_v2", stream, CAPTURE_OF_THIS_THREAD)
    graph = ctypes.c_void_p()
    done, fault = False, ""
    try:
        done = enqueue()
    except Exception as error:  # the recording has to be ended whatever happened
        fault = str(error)
    ended = driver.cuStreamEndCapture(stream, ctypes.byref(graph))
    try:
        if ended or not done or not graph.value:
            raise CaptureError(f"the engine cannot be recorded ({fault or _name(driver, ended) or 'TensorRT refuses'})")
        recorded = ctypes.c_void_p()
        _check(driver, "cuGraphInstantiateWithFlags", ctypes.byref(recorded), graph, ctypes.c_ulonglong(0))
    finally:
        if graph.value:
            driver.cuGraphDestroy(graph)
    return CudaGraph(driver, recorded)


def _check(driver: Any, name: str, *arguments: Any) -> None:
    function = getattr(driver, name, None)
    if function is None:
        raise CaptureError(f"the CUDA driver is too old: it has no {name}")
    code = function(*arguments)
    if code:
        raise CaptureError(f"{name}: {_name(driver, code)}")


def _name(driver: Any, code: int) -> str:
    """The driver's name of an error; empty for none."""
    if not code:
        return ""
    text = ctypes.c_char_p()
    if driver.cuGetErrorName(code, ctypes.byref(text)) or not text.value:
        return f"CUDA error {code}"
    return text.value.decode("ascii", "replace")
