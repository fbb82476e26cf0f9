"""A GPU that is not there: `pycuda.driver` and the CUDA driver, failing the way the real ones do.

What is put into a stream runs when somebody waits for it, not before. Every call wants a context that is current in its
own thread. Memory is counted. An access outside of what was allocated breaks the GPU for good, as on a real one. A
clock of its own says when each copy and kernel would have run, so that overlap can be seen.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

COPY_MS, KERNELS_MS, CALL_MS = 1.0, 5.0, 0.002
NOT_PERMITTED, INVALIDATED, INVALID_VALUE = 900, 901, 1
NAMES = {
    NOT_PERMITTED: b"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
    INVALIDATED: b"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
    INVALID_VALUE: b"CUDA_ERROR_INVALID_VALUE",
}


class Error(Exception):
    """pycuda.driver.Error."""


class LogicError(Error):
    """pycuda.driver.LogicError."""


class MemoryError_(Error):
    """pycuda.driver.MemoryError."""


class LaunchError(Error):
    """pycuda.driver.LaunchError."""


@dataclass
class Work:
    name: str
    duration_ms: float
    run: Callable[[], None]


@dataclass
class FakeGpu:
    """The GPU, and all that was ever made on it."""

    name: str = "Orin"
    capability: tuple[int, int] = (8, 7)
    memory_bytes: int = 1 << 30
    now_ms: float = 0.0
    broken: str | None = None
    memory: dict[int, bytearray] = field(default_factory=dict)
    made: Counter[str] = field(default_factory=Counter)
    """Everything that was ever created."""
    alive: Counter[str] = field(default_factory=Counter)
    pageable_copies: int = 0
    streams: weakref.WeakValueDictionary[int, Stream] = field(default_factory=weakref.WeakValueDictionary)
    graphs: dict[int, list[Work]] = field(default_factory=dict)
    trace: list[tuple[str, float, float]] = field(default_factory=list)
    """(what, start, end) on the GPU's clock."""
    stacks: dict[int, list[Context]] = field(default_factory=dict)
    """Of each thread that ever pushed a context."""
    pinned: set[int] = field(default_factory=set)
    _next: int = 0x1000

    def call(self) -> None:
        """Every call of the API: it takes a moment, wants a current context, and fails once the GPU is broken."""
        self.now_ms += CALL_MS
        if not self.stacks.get(threading.get_ident()):
            raise LogicError("cuCall failed: invalid device context")
        if self.broken:
            raise LaunchError(f"cuCall failed: {self.broken}")

    def make(self, kind: str) -> int:
        self.made[kind] += 1
        self.alive[kind] += 1
        self._next += 0x100000
        return self._next

    def allocate(self, size: int, kind: str = "device") -> int:
        if size < 1:
            raise LogicError("cuMemAlloc failed: invalid argument")
        if sum(map(len, self.memory.values())) + size > self.memory_bytes:
            raise MemoryError_("cuMemAlloc failed: out of memory")
        address = self.make(kind)
        self.memory[address] = bytearray(b"\xee" * size)  # never zeros: what was not written must be seen
        return address

    def write(self, address: int, data: bytes) -> None:
        if len(data) > len(self.memory.get(address, b"")):
            self.fail()
            return
        self.memory[address][: len(data)] = data

    def read(self, address: int, size: int) -> bytes:
        if size > len(self.memory.get(address, b"")):
            self.fail()
            return b"\0" * size
        return bytes(self.memory[address][:size])

    def fail(self) -> None:
        self.broken = "an illegal memory access was encountered"


class Context:
    def __init__(self, gpu: FakeGpu) -> None:
        self.gpu, self.valid, self.thread = gpu, True, threading.get_ident()

    def push(self) -> None:
        self.gpu.stacks.setdefault(threading.get_ident(), []).append(self)

    def pop(self) -> None:
        stack = self.gpu.stacks.get(threading.get_ident())
        if not stack:
            raise LogicError("context::pop failed: invalid device context - cannot pop non-current context")
        stack.pop()

    def detach(self) -> None:
        if not self.valid:
            raise LogicError("context::detach failed: invalid device context")
        self.valid = False
        self.gpu.alive["context"] -= 1


class Stream:
    def __init__(self, gpu: FakeGpu) -> None:
        gpu.call()
        self.gpu, self.handle = gpu, gpu.make("stream")
        gpu.streams[self.handle] = self
        self.waiting: deque[Callable[[], None]] = deque()
        self.clock_ms = 0.0
        self.recording: list[Work] | None = None
        self.spoilt = False
        weakref.finalize(self, gpu.alive.subtract, ["stream"])

    def put(self, work: Work) -> None:
        self.gpu.call()
        if self.recording is not None:
            self.recording.append(work)
            return
        start = max(self.clock_ms, self.gpu.now_ms)
        self.clock_ms = start + work.duration_ms
        self.gpu.trace.append((work.name, start, self.clock_ms))
        self.waiting.append(work.run)

    def synchronize(self) -> None:
        self.gpu.call()
        if self.recording is not None:
            self.spoilt = True
            raise LogicError("cuStreamSynchronize failed: operation not permitted when stream is capturing")
        self.drain()
        self.gpu.now_ms = max(self.gpu.now_ms, self.clock_ms)
        self.gpu.call()

    def drain(self, until: Callable[[], bool] = lambda: False) -> None:
        while self.waiting and not until():
            self.waiting.popleft()()

    def wait_for_event(self, event: Event) -> None:
        self.gpu.call()
        self.clock_ms = max(self.clock_ms, event.time_ms)
        wanted, source = event.recorded, event.stream
        if source is not None:
            self.waiting.append(lambda: source.drain(lambda: event.done >= wanted))


class Event:
    def __init__(self, gpu: FakeGpu, flags: int = 0) -> None:
        gpu.call()
        self.gpu, self.timed = gpu, not flags & 2
        gpu.make("event")
        self.recorded = self.done = 0
        self.time_ms = 0.0
        self.stream: Stream | None = None
        weakref.finalize(self, gpu.alive.subtract, ["event"])

    def record(self, stream: Stream) -> Event:
        self.gpu.call()
        self.recorded += 1
        number = self.recorded
        self.stream, self.time_ms = stream, stream.clock_ms

        def reach() -> None:
            self.done = number

        stream.waiting.append(reach)
        return self

    def query(self) -> bool:
        self.gpu.call()
        for _ in range(3):  # time goes by
            if self.stream is not None and self.stream.waiting and self.done < self.recorded:
                self.stream.waiting.popleft()()
        return self.done >= self.recorded

    def synchronize(self) -> Event:
        self.gpu.call()
        if self.stream is not None:
            self.stream.drain(lambda: self.done >= self.recorded)
        self.gpu.now_ms = max(self.gpu.now_ms, self.time_ms)
        self.gpu.call()
        return self

    def time_since(self, other: Event) -> float:
        self.gpu.call()
        if not (self.timed and other.timed):
            raise LogicError("cuEventElapsedTime failed: invalid resource handle")
        return self.time_ms - other.time_ms


class Allocation:
    def __init__(self, gpu: FakeGpu, size: int) -> None:
        gpu.call()
        self.gpu, self.address = gpu, gpu.allocate(size)

    def __int__(self) -> int:
        return self.address

    def free(self) -> None:
        self.gpu.call()
        if self.address not in self.gpu.memory:
            raise LogicError("device_allocation::free failed: invalid resource handle")
        del self.gpu.memory[self.address]
        self.gpu.alive["device"] -= 1


def fake_pycuda(gpu: FakeGpu) -> ModuleType:
    """The module `pycuda.driver` of such a GPU."""
    module: Any = ModuleType("pycuda.driver")
    module.Error, module.LogicError, module.MemoryError, module.LaunchError = (
        Error,
        LogicError,
        MemoryError_,
        LaunchError,
    )

    class Device:
        def __init__(self, number: int) -> None:
            if number:
                raise LogicError("cuDeviceGet failed: invalid device ordinal")

        def name(self) -> str:
            return gpu.name

        def compute_capability(self) -> tuple[int, int]:
            return gpu.capability

        def retain_primary_context(self) -> Context:
            gpu.make("context")
            return Context(gpu)

    def pagelocked_empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        gpu.call()
        array = np.full(shape, 0, dtype)
        if not array.nbytes:
            raise LogicError("cuMemHostAlloc failed: invalid argument")
        array.reshape(-1).view(np.uint8)[:] = 0xEE
        gpu.make("pinned")
        gpu.pinned.add(array.ctypes.data)
        weakref.finalize(array, gpu.alive.subtract, ["pinned"])
        return array

    def memcpy_htod_async(dest: Allocation, src: np.ndarray, stream: Stream) -> None:
        gpu.pageable_copies += src.ctypes.data not in gpu.pinned
        stream.put(Work("up", COPY_MS, lambda: gpu.write(int(dest), src.tobytes())))

    def memcpy_dtoh_async(dest: np.ndarray, src: Allocation, stream: Stream) -> None:
        gpu.pageable_copies += dest.ctypes.data not in gpu.pinned

        def copy() -> None:
            dest.reshape(-1).view(np.uint8)[:] = np.frombuffer(gpu.read(int(src), dest.nbytes), np.uint8)

        stream.put(Work("down", COPY_MS / 8, copy))

    module.init = lambda: None
    module.Device = Device
    module.Stream = lambda: Stream(gpu)
    module.Event = lambda flags=0: Event(gpu, flags)
    module.mem_alloc = lambda size: Allocation(gpu, size)
    module.pagelocked_empty = pagelocked_empty
    module.memcpy_htod_async, module.memcpy_dtoh_async = memcpy_htod_async, memcpy_dtoh_async
    return module


class FakeDriver:
    """The part of `libcuda.so.1` that records graphs; handles are `ctypes.c_void_p`."""

    def __init__(self, gpu: FakeGpu) -> None:
        self.gpu = gpu

    def cuStreamBeginCapture_v2(self, stream: Any, mode: int) -> int:
        self.gpu.call()
        source = self.gpu.streams[stream.value]
        if source.recording is not None:
            return NOT_PERMITTED
        source.recording, source.spoilt = [], False
        return 0

    def cuStreamEndCapture(self, stream: Any, graph: Any) -> int:
        source = self.gpu.streams[stream.value]
        recorded, source.recording = source.recording, None
        if source.spoilt or recorded is None:
            return INVALIDATED
        graph._obj.value = self.gpu.make("graph")
        self.gpu.graphs[graph._obj.value] = recorded
        return 0

    def cuGraphInstantiateWithFlags(self, ready: Any, graph: Any, flags: Any) -> int:
        ready._obj.value = self.gpu.make("graph")
        self.gpu.graphs[ready._obj.value] = list(self.gpu.graphs[graph.value])
        return 0

    def cuGraphLaunch(self, ready: Any, stream: Any) -> int:
        if ready.value not in self.gpu.graphs:
            return INVALID_VALUE
        for work in self.gpu.graphs[ready.value]:
            self.gpu.streams[stream.value].put(work)
        return 0

    def cuGraphDestroy(self, graph: Any) -> int:
        del self.gpu.graphs[graph.value]
        self.gpu.alive["graph"] -= 1
        return 0

    cuGraphExecDestroy = cuGraphDestroy

    def cuGetErrorName(self, code: int, text: Any) -> int:
        text._obj.value = NAMES.get(code)
        return 0
