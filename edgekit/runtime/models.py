"""Several copies of one model, so that every core works on a tile of its own."""

from __future__ import annotations

import os
import queue
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from edgekit.contracts import Segmenter, TileResult
from edgekit.errors import EdgekitError
from edgekit.runtime.row_pass import Batch
from edgekit.segment import SegmenterSettings, open_segmenter

MOST_COPIES = 4
"""Each copy takes memory for its activations, about 160 MB for the default model."""

Segmented = tuple[Batch, list[TileResult]]


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
    """The model, in as many copies as its threads can be shared among; one on anything but the CPU.

    Raises:
        ModelError: no such file, or not a model.
        ContractError: the graph breaks the contract.
        ProviderError: the wanted provider or device is not there.
    """
    copies, threads = 1, settings.threads
    if settings.provider == "cpu":
        copies, threads = share_threads(settings.threads or usable_cores())
    models: list[Segmenter] = []
    try:
        for _ in range(copies):
            models.append(open_segmenter(path, settings=replace(settings, threads=threads)))  # noqa: PERF401
        yield models
    finally:
        for model in models:
            model.close()


def segment_all(batches: Iterable[Batch], models: Sequence[Segmenter]) -> Iterator[Segmented]:
    """Every batch with its results, in the order of the batches, whichever copy is ready first.

    At most one batch more than there are copies is on the way, so that no copy waits for the results to be stored.
    """
    free: queue.SimpleQueue[Segmenter] = queue.SimpleQueue()
    for model in models:
        free.put(model)

    def segment(batch: Batch) -> list[TileResult]:
        model = free.get()
        try:
            return model.segment(batch.tiles)
        finally:
            free.put(model)

    feed, failure = iter(batches), None
    on_the_way: deque[tuple[Batch, Future[list[TileResult]]]] = deque()
    with ThreadPoolExecutor(len(models), thread_name_prefix="edgekit-model") as workers:
        try:
            while True:
                try:
                    batch = next(feed, None)
                except EdgekitError as error:  # the source or the disk failed: what was cut before is still good
                    failure = error
                    break
                if batch is None:
                    break
                on_the_way.append((batch, workers.submit(segment, batch)))
                if len(on_the_way) > len(models):
                    yield _finished(on_the_way)
            while on_the_way:
                yield _finished(on_the_way)
        finally:
            for _, future in on_the_way:
                future.cancel()
    if failure is not None:
        raise failure


def _finished(on_the_way: deque[tuple[Batch, Future[list[TileResult]]]]) -> Segmented:
    batch, future = on_the_way.popleft()
    return batch, future.result()
