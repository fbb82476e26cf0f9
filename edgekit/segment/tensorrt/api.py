"""What is used of `tensorrt`, `pycuda.driver` and the CUDA driver, typed from their documentation.

The stubs that are published for TensorRT are no Python (parameters named `in`), so mypy cannot follow them.
`bin/check-tensorrt-types` mends that and holds these protocols against them.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

HostArray = npt.NDArray[Any]
"""In pinned memory."""


class Dims(Protocol):
    """A shape; -1 stands for a size that is not fixed."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> int: ...


class Context(Protocol):
    """`tensorrt.IExecutionContext`."""

    def set_tensor_address(self, name: str, memory: int) -> bool:
        """Where a tensor lies; False where there is no such tensor."""
        ...

    def set_input_shape(self, name: str, shape: tuple[int, ...]) -> bool:
        """The shape of an input whose size is not fixed; False where the profile does not allow it."""
        ...

    def infer_shapes(self) -> list[str]:
        """Names of the tensors whose shapes are still unknown."""
        ...

    def get_tensor_shape(self, name: str) -> Dims:
        """The shape that a tensor has in this context."""
        ...

    def execute_async_v3(self, stream_handle: int) -> bool:
        """Put one inference into a stream; False where something is missing."""
        ...


class Engine(Protocol):
    """`tensorrt.ICudaEngine`, by names (8.5 and newer)."""

    @property
    def num_io_tensors(self) -> int:
        """Number of inputs and outputs."""
        ...

    def get_tensor_name(self, index: int) -> str:
        """Name of an input or output."""
        ...

    def get_tensor_mode(self, name: str) -> Any:
        """A `TensorIOMode`."""
        ...

    def get_tensor_dtype(self, name: str) -> Any:
        """A `DataType`."""
        ...

    def get_tensor_shape(self, name: str) -> Dims:
        """The shape that a tensor was built with."""
        ...

    def create_execution_context(self) -> Context | None:
        """A context with memory of its own; None where there is not enough."""
        ...


class Queue(Protocol):
    """`pycuda.driver.Stream`."""

    @property
    def handle(self) -> int:
        """The driver's CUstream."""
        ...

    def synchronize(self) -> None:
        """Wait until everything in it is done."""
        ...

    def wait_for_event(self, event: Mark) -> None:
        """Let what comes later in this stream wait for what was recorded."""
        ...


class Mark(Protocol):
    """`pycuda.driver.Event`."""

    def record(self, stream: Queue) -> Any:
        """Mark what was put into the stream so far."""
        ...

    def synchronize(self) -> Any:
        """Wait until what was recorded is done."""
        ...

    def query(self) -> bool:
        """True where what was recorded is done."""
        ...


class Allocation(Protocol):
    """`pycuda.driver.DeviceAllocation`."""

    def __int__(self) -> int: ...

    def free(self) -> None:
        """Give the memory back."""
        ...


class Cuda(Protocol):
    """The module `pycuda.driver`."""

    Error: type[Exception]

    def init(self) -> None:
        """Start the driver."""
        ...

    def Device(self, number: int) -> Any:  # noqa: N802 - pycuda's name
        """A GPU."""
        ...

    def Stream(self) -> Queue:  # noqa: N802
        """A new stream."""
        ...

    def Event(self, flags: int) -> Mark:  # noqa: N802
        """A new event."""
        ...

    def mem_alloc(self, size: int) -> Allocation:
        """Memory on the GPU."""
        ...

    def pagelocked_empty(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> HostArray:
        """An array in pinned memory, from which the GPU copies by itself."""
        ...

    def memcpy_htod_async(self, dest: Allocation, src: HostArray, stream: Queue) -> None:
        """Put a copy to the GPU into a stream."""
        ...

    def memcpy_dtoh_async(self, dest: HostArray, src: Allocation, stream: Queue) -> None:
        """Put a copy from the GPU into a stream."""
        ...


DTYPES: dict[str, np.dtype[Any]] = {
    "FLOAT": np.dtype(np.float32),
    "HALF": np.dtype(np.float16),
    "INT8": np.dtype(np.int8),
    "UINT8": np.dtype(np.uint8),
    "INT32": np.dtype(np.int32),
    "INT64": np.dtype(np.int64),
    "BOOL": np.dtype(np.bool_),
}
"""Name of a `DataType` -> NumPy's type. `tensorrt.nptype` is not used: in 8.5 it asks for `np.bool`."""
