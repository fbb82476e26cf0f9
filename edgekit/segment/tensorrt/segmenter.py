"""Engines of the contract on TensorRT."""

from __future__ import annotations

import queue
import threading
import weakref
from collections import deque
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgekit.contracts import Choice, ModelInfo, TileResult
from edgekit.segment.contract import INPUT, check_tiles
from edgekit.segment.engine_file import read_engine
from edgekit.segment.rows import decode_rows
from edgekit.segment.settings import SegmenterSettings
from edgekit.segment.tensorrt.buffers import HostBuffers
from edgekit.segment.tensorrt.fit import read_fitting
from edgekit.segment.tensorrt.modules import load_modules
from edgekit.segment.tensorrt.session import EngineSession
from edgekit.segment.tensorrt.worker import Worker

OnTheWay = tuple[HostBuffers, "Future[None]", int]
"""Buffers, their end, and the number of real tiles."""


class TensorRtSegmenter:
    """An engine of the contract. It may be called from any thread, and from two at once it works without a pause.

    Raises:
        EngineError: no engine, one of another device or TensorRT, or one that does not run.
        ContractError: the engine breaks the contract.
        MissingDependencyError: `tensorrt` or `pycuda` is not installed.
        ProviderError: there is no GPU.
    """

    def __init__(self, path: Path, settings: SegmenterSettings, *, remark: str | None = None) -> None:
        modules = load_modules()
        fitting = read_fitting(path, modules)
        self._info = fitting.info
        info, record = fitting.info, settings.cuda_graph
        self._worker = Worker(
            lambda: EngineSession(read_engine(path).plan, modules, info, name=path.name, record=record)
        )
        self._end = weakref.finalize(self, self._worker.close)  # also when Python ends, whatever ended it
        self._closing = threading.Lock()
        self._free: queue.SimpleQueue[HostBuffers] = queue.SimpleQueue()
        for buffers in self._worker.host:
            self._free.put(buffers)
        remarks = [*([] if remark is None else [remark]), *fitting.remarks, self._worker.graph_note]
        self._provider = Choice("tensorrt", f"TensorRT {modules.trt.__version__}", "; ".join(remarks))
        try:
            if fitting.check is not None:
                fitting.check(self)
        except BaseException:
            self.close()
            raise

    @property
    def info(self) -> ModelInfo:
        """What the model file says of itself."""
        return self._info

    @property
    def provider(self) -> Choice:
        """Where it runs, and how."""
        return self._provider

    def segment(self, tiles: npt.NDArray[np.uint8]) -> list[TileResult]:
        """Segment N tiles (uint8, N x S x S x 3, RGB), N >= 0 of any size; result i belongs to tile i.

        Raises:
            ModelError: tiles of another type or size, a closed segmenter, or an engine that fails.
        """
        check_tiles(tiles, self._info)
        results: list[TileResult] = []
        on_the_way: deque[OnTheWay] = deque()
        try:
            for start in range(0, len(tiles), self._info.batch):
                while not (buffers := self._take(wait=not on_the_way)):
                    results += self._give_back(*on_the_way.popleft())
                on_the_way.append(self._send(buffers, tiles[start : start + self._info.batch]))
            while on_the_way:
                results += self._give_back(*on_the_way.popleft())
        finally:
            for buffers, done, _ in on_the_way:
                done.exception()  # the GPU may still be writing into them
                self._free.put(buffers)
        return results

    def close(self) -> None:
        """Let go of the GPU when those who are at work are done; calling it twice does no harm."""
        with self._closing:
            if self._end.alive:
                held = [self._free.get() for _ in self._worker.host]
                self._end()
                for buffers in held:  # who waits for them learns that the segmenter is closed
                    self._free.put(buffers)

    def _take(self, *, wait: bool) -> HostBuffers | None:
        """Free buffers. One who holds some never waits for more: two callers would wait for each other."""
        try:
            return self._free.get(block=wait)
        except queue.Empty:
            return None

    def _send(self, buffers: HostBuffers, tiles: npt.NDArray[np.uint8]) -> OnTheWay:
        try:
            pinned = buffers.arrays.get(INPUT)
            if pinned is not None:  # it is, once the engine is closed: then submitting says so
                pinned[: len(tiles)] = tiles
                pinned[len(tiles) :] = 0
            return buffers, self._worker.submit(buffers.number), len(tiles)
        except BaseException:
            self._free.put(buffers)
            raise

    def _give_back(self, buffers: HostBuffers, done: Future[None], real: int) -> list[TileResult]:
        """The results of a batch, as copies; its buffers are free again."""
        try:
            done.result()
            return [decode_rows(buffers.arrays, index, self._info) for index in range(real)]
        finally:
            self._free.put(buffers)
