"""Memory for one batch, on the host and on the GPU, made once."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from edgekit.errors import EngineError
from edgekit.segment.tensorrt.api import Allocation, Context, Cuda, HostArray, Mark
from edgekit.segment.tensorrt.bindings import Binding
from edgekit.segment.tensorrt.cuda_graph import CudaGraph


@dataclass
class HostBuffers:
    """The host's side of a batch, for any thread: filled before the batch is submitted, read when it is done."""

    number: int
    """Of the lane that it belongs to."""
    arrays: dict[str, HostArray] = field(default_factory=dict)
    """Inputs and outputs by name, pinned; empty once the engine is closed."""


@dataclass
class Lane:
    """One batch on its way: all that it needs, for the thread of the engine alone."""

    bindings: tuple[Binding, ...]
    host: HostBuffers
    context: Context
    """Its tensors lie in `device`."""
    input_ready: Mark
    """Recorded when the tiles are on the GPU."""
    computed: Mark
    """Recorded when the kernels are done."""
    output_ready: Mark
    """Recorded when the outputs are back on the host."""
    device: dict[str, Allocation] = field(default_factory=dict)
    graph: CudaGraph | None = None
    """The recorded inference; None where it is put into the stream kernel by kernel."""

    def names(self, *, inputs: bool) -> list[str]:
        """Names of the inputs, or of the outputs, that have any data."""
        return [item.name for item in self.bindings if item.is_input is inputs and 0 not in item.shape]

    def allocate(self, cuda: Cuda) -> None:
        """Memory for every binding, at addresses that the context knows from then on.

        Raises:
            EngineError: not enough memory, or an address that TensorRT does not take.
        """
        try:
            for binding in self.bindings:
                self.host.arrays[binding.name] = _pinned(binding, cuda)
                self.device[binding.name] = cuda.mem_alloc(binding.size_bytes)
                if not self.context.set_tensor_address(binding.name, int(self.device[binding.name])):
                    raise EngineError(f"TensorRT takes no address for {binding.name}")
        except cuda.Error as error:
            total_mb = sum(binding.size_bytes for binding in self.bindings) / 2**20
            raise EngineError(
                f"no memory for the buffers of a batch, {total_mb:.0f} MB ({error})", mend="export a smaller batch"
            ) from error

    def free(self, cuda: Cuda) -> None:
        """Give everything back; a GPU that has failed for good refuses, and then the driver does it at the end."""
        with suppress(cuda.Error):
            if self.graph is not None:
                self.graph.close()
            for allocation in self.device.values():
                allocation.free()
        self.graph = None
        self.device.clear()
        self.host.arrays.clear()


def _pinned(binding: Binding, cuda: Cuda) -> HostArray:
    """Zeros that the GPU can copy from and to by itself; nothing can be pinned of nothing."""
    if 0 in binding.shape:
        return np.zeros(binding.shape, binding.dtype)
    array = cuda.pagelocked_empty(binding.shape, binding.dtype)
    if array.nbytes != binding.size_bytes:  # a copy moves as many bytes as the array has
        raise EngineError(f"{binding.name} has {array.nbytes} bytes on the host, {binding.size_bytes} on the GPU")
    array[...] = 0
    return array
