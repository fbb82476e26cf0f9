"""Several copies of one model, so that every core works on a tile of its own."""

from __future__ import annotations

import os
import queue
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from edgekit.contracts import Segmenter, TileResult
from edgekit.errors import EdgekitError
from edgekit.segment import SegmenterSettings, open_segmenter

MOST_COPIES = 4
"""Each copy takes memory for its activations, about 160 MB for the default model."""

ENGINE_CALLERS = 2
"""A TensorRT engine is not copied: two callers keep it busy, since one batch is copied while another is computed."""


class HasTiles(Protocol):
    """A batch, whatever it knows beside its tiles."""

    @property
    def tiles(self) -> npt.NDArray[np.uint8]:
        """uint8, N x S x S x 3, RGB."""
        ...


AnyBatch = TypeVar("AnyBatch", bound=HasTiles)


def share_threads(threads: int) -> tuple[int, int]:
    """Copies of the model, and threads within each of them, that use `threads` threads.

    Copies beat threads within the model: the parts of a graph that run on one thread only (non-maximum suppression,
    masks, small layers) then overlap with those of another tile. Measured by `python bench/run/copies.py`.
    """
    copies = next(number for number in range(min(threads, MOST_COPIES), 0, -1) if threads % number == 0)
    return copies, threads // copies


def usable_cores() -> int:
    """Cores that this process may run on, where the system tells; else those of the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def opened_models(path: Path, settings: SegmenterSettings) -> Iterator[list[Segmenter]]:
    """The model, in as many copies as its threads can be shared among; one on anything but the CPU. An engine is
    given twice, for two callers.

    Raises:
        ModelError: no such file, or not a model.
        ContractError: the graph breaks the contract.
        ProviderError: the wanted provider or device is not there.
    """
    copies, threads = 1, settings.threads
    if settings.provider == "cpu":
        copies, threads = share_threads(settings.threads or usable_cores())
    settings = replace(settings, threads=threads)
    models: list[Segmenter] = []
    try:
        models.append(open_segmenter(path, settings=settings))
        if models[0].provider.requested == "tensorrt":
            models *= ENGINE_CALLERS
        while len(models) < copies:
            models.append(open_segmenter(path, settings=settings))
        yield models
    finally:
        for model in models:
            model.close()


def segment_all(
    batches: Iterable[AnyBatch | None], models: Sequence[Segmenter], *, nice: int = 0
) -> Iterator[tuple[AnyBatch, list[TileResult]]]:
    """Every batch with its results, in the order of the batches, whichever copy is ready first.

    At most one batch more than there are copies is on the way, so that no copy waits for the results to be stored. None
    in place of a batch says that there is none yet: then everything that is on the way is handed out.

    Args:
        batches: uint8 tiles.
        models: copies of one model.
        nice: how far the model's threads stand back behind the other threads of the process (Linux; 0 to 19).
    """
    free: queue.SimpleQueue[Segmenter] = queue.SimpleQueue()
    for model in models:
        free.put(model)

    def segment(batch: AnyBatch) -> list[TileResult]:
        model = free.get()
        try:
            return model.segment(batch.tiles)
        finally:
            free.put(model)

    feed, failure = iter(batches), None
    on_the_way: deque[tuple[AnyBatch, Future[list[TileResult]]]] = deque()
    with ThreadPoolExecutor(
        len(models), thread_name_prefix="edgekit-model", initializer=stand_back, initargs=(nice,)
    ) as workers:
        try:
            while True:
                try:
                    batch = next(feed, _END)
                except EdgekitError as error:  # the source or the disk failed: what was cut before is still good
                    failure = error
                    break
                if isinstance(batch, _End):
                    break
                if batch is not None:
                    on_the_way.append((batch, workers.submit(segment, batch)))
                while len(on_the_way) > (len(models) if batch is not None else 0):
                    yield _finished(on_the_way)
            while on_the_way:
                yield _finished(on_the_way)
        finally:
            for _, future in on_the_way:
                future.cancel()
    if failure is not None:
        raise failure


def stand_back(nice: int) -> None:
    """Let other threads of this process go first; on Linux each thread has a priority of its own."""
    if nice and hasattr(os, "setpriority"):
        with suppress(OSError):
            thread = threading.get_native_id()
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + nice)


class _End(Enum):
    END = "end"


_END = _End.END


def _finished(
    on_the_way: deque[tuple[AnyBatch, Future[list[TileResult]]]],
) -> tuple[AnyBatch, list[TileResult]]:
    batch, future = on_the_way.popleft()
    return batch, future.result()
