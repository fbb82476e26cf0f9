"""What a TensorRT backend has to keep, on a real GPU as on the fake one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from edgekit.contracts import Segmenter, TileResult
from edgekit.segment.tensorrt.session import EngineSession

Tiles = np.ndarray


def same_results(wanted: Sequence[TileResult], got: Sequence[TileResult], *, score_margin: float) -> None:
    """As many objects in every tile, with the same boxes and masks, scores within a margin."""
    assert len(wanted) == len(got)
    for a, b in zip(wanted, got, strict=True):
        assert len(a.instances) == len(b.instances)
        assert a.candidates == b.candidates
        np.testing.assert_allclose(b.instances.scores, a.instances.scores, atol=score_margin)
        np.testing.assert_allclose(b.instances.boxes_xyxy, a.instances.boxes_xyxy, atol=0.5)
        for mine, theirs in zip(a.instances.masks, b.instances.masks, strict=True):
            assert abs(mine.area_px - theirs.area_px) <= 0.02 * mine.area_px + 2


def every_thread_gets_its_own(segmenter: Segmenter, tiles: Tiles, *, threads: int, rounds: int) -> None:
    """Threads that never made the engine get the results of their own tiles, whoever else is at work."""
    wanted = segmenter.segment(tiles)

    def work(start: int) -> None:
        order = np.roll(np.arange(len(tiles)), start)
        for _ in range(rounds):
            got = segmenter.segment(tiles[order])
            assert [len(result.instances) for result in got] == [len(wanted[i].instances) for i in order]

    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work, start) for start in range(threads)]:
            done.result()


def memory_is_steady(
    segmenter: Segmenter, tiles: Tiles, *, batches: int, measure: Callable[[], dict[str, float]], limit_mb: float = 20
) -> dict[str, float]:
    """Memory after 500 batches and after `batches`, with 0 to all of the tiles at a time: grows by less than a limit.

    Returns:
        The growth of every reading, MB.
    """
    done, size, before = 0, 0, measure()
    while done < batches:
        size = (size + 1) % (len(tiles) + 1)
        segmenter.segment(tiles[:size])
        done += -(-size // segmenter.info.batch)
        if done - 500 in range(-(-size // segmenter.info.batch)):
            before = measure()
    growth = {name: value - before[name] for name, value in measure().items()}
    assert all(value < limit_mb for value in growth.values()), growth
    return growth


def copies_overlap(session: EngineSession, *, rounds: int) -> float:
    """Share of rounds in which the second batch was on the GPU before the first one was computed.

    Args:
        session: made in this thread, with events that keep their time.
        rounds: how often to look.
    """
    overlapped = 0
    for _ in range(rounds):
        session.enqueue(0)
        session.enqueue(1)
        session.wait(0)
        session.wait(1)
        overlapped += session.lanes[1].input_ready.time_since(session.lanes[0].computed) < 0
    return overlapped / rounds


def refused_elsewhere(session: EngineSession, error: type[Exception]) -> Any:
    """A session that is used from a thread that did not make it fails instead of giving wrong results."""
    caught: list[Exception] = []

    def work() -> None:
        try:
            session.enqueue(0)
            session.wait(0)
        except error as fault:
            caught.append(fault)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert caught
    return caught[0]
