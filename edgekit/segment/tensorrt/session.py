"""An engine that is ready to run, with everything that it needs on the GPU. One thread makes, uses and closes it."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from edgekit.contracts import ModelInfo
from edgekit.errors import EngineError
from edgekit.segment.contract import expected_tensors
from edgekit.segment.engine_file import REBUILD
from edgekit.segment.tensorrt.api import Engine, Queue
from edgekit.segment.tensorrt.bindings import check_bindings, read_bindings
from edgekit.segment.tensorrt.buffers import HostBuffers, Lane
from edgekit.segment.tensorrt.cuda_graph import CaptureError, capture, load_driver
from edgekit.segment.tensorrt.log import Log, make_log
from edgekit.segment.tensorrt.modules import Modules

LANES = 2
"""One batch in the kernels, and one on its way there or back."""
BLOCKING_SYNC, DISABLE_TIMING = 1, 2
"""CU_EVENT_BLOCKING_SYNC: who waits sleeps, a Jetson's cores have other work. Times cost, and nobody reads them."""


class EngineSession:
    """An engine, its execution contexts, streams and buffers.

    Kernels run in one stream; copies to the GPU and copies back have a stream of their own each, because a copy that
    stands in the stream of the kernels would wait for them. Each lane has buffers and an execution context of its
    own, so that no address ever changes: that is what a recorded inference needs.

    Args:
        plan: what TensorRT deserialises.
        modules: `tensorrt` and `pycuda`.
        info: of the model that the engine is.
        name: of the engine, for messages.
        record: try to record the inference as a CUDA graph.
        event_flags: of the events; without DISABLE_TIMING they tell times.

    Raises:
        EngineError: TensorRT cannot load or run the engine; what it said is told.
        ContractError: the engine breaks the contract.
    """

    def __init__(
        self,
        plan: bytes,
        modules: Modules,
        info: ModelInfo,
        *,
        name: str,
        record: bool = True,
        event_flags: int = BLOCKING_SYNC | DISABLE_TIMING,
    ) -> None:
        self._trt, self._cuda = modules.trt, modules.cuda
        self._log: Log = make_log(self._trt)
        self._wanted = expected_tensors(info)[0]
        self.lanes: list[Lane] = []
        self.graph_note = "CUDA graphs are switched off"
        """How inferences reach the GPU, and why so."""
        with ExitStack() as undo:
            try:
                self._open(plan, undo, event_flags)
                check_bindings(self.lanes[0].bindings, info, name)
                self._warm_up()
                if record:
                    self._record()
            except self._cuda.Error as error:
                raise EngineError(f"the GPU failed while {name} was opened: {error}{self._log.told()}") from error
            self._undo = undo.pop_all()

    @property
    def host(self) -> list[HostBuffers]:
        """The host's side of every lane."""
        return [lane.host for lane in self.lanes]

    def enqueue(self, number: int) -> None:
        """Put the batch of a lane into the streams; nothing is waited for and nothing is made.

        Raises:
            EngineError: TensorRT refuses, or the GPU has failed.
        """
        lane, cuda = self.lanes[number], self._cuda
        for name in lane.names(inputs=True):
            cuda.memcpy_htod_async(lane.device[name], lane.host.arrays[name], self._up)
        lane.input_ready.record(self._up)
        self._kernels.wait_for_event(lane.input_ready)
        self._execute(lane)
        lane.computed.record(self._kernels)
        self._down.wait_for_event(lane.computed)
        for name in lane.names(inputs=False):
            cuda.memcpy_dtoh_async(lane.host.arrays[name], lane.device[name], self._down)
        lane.output_ready.record(self._down)

    def is_done(self, number: int) -> bool:
        """True where the outputs of a lane are back on the host."""
        return self.lanes[number].output_ready.query()

    def wait(self, number: int) -> None:
        """Wait until the outputs of a lane are back on the host."""
        self.lanes[number].output_ready.synchronize()

    def close(self) -> None:
        """Give everything back and leave the CUDA context; calling it twice does no harm."""
        self._undo.close()

    def _open(self, plan: bytes, undo: ExitStack, event_flags: int) -> None:
        """Make everything; what was made is taken back by `undo`."""
        self._enter_context(undo)
        undo.callback(self._forget)
        self._runtime: Any = self._trt.Runtime(self._log)
        self._engine = self._load(plan)
        self._up, self._kernels, self._down = (self._cuda.Stream() for _ in range(3))
        for number in range(LANES):
            self.lanes.append(self._lane(number, event_flags))
            self.lanes[-1].allocate(self._cuda)

    def _enter_context(self, undo: ExitStack) -> None:
        """The GPU's primary context, which TensorRT shares."""
        context = self._cuda.Device(0).retain_primary_context()
        undo.callback(_quietly, self._cuda, context.detach)
        context.push()
        undo.callback(context.pop)

    def _load(self, plan: bytes) -> Engine:
        engine: Engine | None = self._runtime.deserialize_cuda_engine(plan)
        if engine is None:
            raise EngineError(
                f"TensorRT {self._trt.__version__} cannot load the engine{self._log.told()}", mend=REBUILD
            )
        return engine

    def _lane(self, number: int, event_flags: int) -> Lane:
        context = self._engine.create_execution_context()
        if context is None:
            raise EngineError(f"no memory to run the engine{self._log.told()}", mend="export a smaller batch")
        bindings = tuple(read_bindings(self._engine, context, self._trt, self._wanted))
        ready, computed, back = (self._cuda.Event(event_flags) for _ in range(3))
        return Lane(bindings, HostBuffers(number), context, ready, computed, back)

    def _warm_up(self) -> None:
        """Run every lane once on black tiles: what TensorRT sets up at the first inference is then set up."""
        for number in range(LANES):
            self.enqueue(number)
            self.wait(number)

    def _record(self) -> None:
        """Record the inference of every lane; where one cannot be recorded, none is used."""
        try:
            driver = load_driver()
            for lane in self.lanes:
                lane.graph = capture(driver, self._kernels.handle, partial(self._put, lane))
            self._warm_up()
            self.graph_note = "inference recorded as a CUDA graph"
        except CaptureError as error:
            for lane in self.lanes:
                if lane.graph is not None:
                    lane.graph.close()
                lane.graph = None
            self.graph_note = f"no CUDA graph: {error}"
            self._warm_up()  # a recording that failed must not have spoilt the stream

    def _execute(self, lane: Lane) -> None:
        if lane.graph is not None:
            lane.graph.launch(self._kernels.handle)
        elif not self._put(lane):
            raise EngineError(f"TensorRT refuses to run the engine{self._log.told()}", mend=REBUILD)

    def _put(self, lane: Lane) -> bool:
        return lane.context.execute_async_v3(self._kernels.handle)

    def _forget(self) -> None:
        """Let go in the order that TensorRT wants, while the CUDA context is still there."""
        for stream in self._streams():
            _quietly(self._cuda, stream.synchronize)
        for lane in self.lanes:
            lane.free(self._cuda)
        self.lanes.clear()
        for name in ("_engine", "_runtime", *_STREAMS):
            vars(self).pop(name, None)

    def _streams(self) -> list[Queue]:
        """Those that were made before something failed."""
        return [vars(self)[name] for name in _STREAMS if name in vars(self)]


_STREAMS = ("_up", "_kernels", "_down")


def _quietly(cuda: Any, call: Any) -> None:
    """A GPU that has failed for good refuses to clean up as well; the driver does it when the process ends."""
    with suppress(cuda.Error):
        call()
