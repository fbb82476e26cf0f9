"""Memory for frames: taken once, used again when nobody looks at it any more, never while somebody does."""

import numpy as np
import psutil
import pytest

from edgekit.runtime.sources.frame_pool import FramePool


def address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def test_the_same_memory_comes_again() -> None:
    pool = FramePool(2)
    first, second = pool.take(4, 6), pool.take(4, 6)
    places = {address(first), address(second)}
    assert len(places) == 2
    for _ in range(10):
        del first
        first = pool.take(4, 6)
        assert address(first) in places


def test_a_view_keeps_the_memory() -> None:
    pool = FramePool(1)
    frame = pool.take(8, 9)
    frame[:] = 7
    corner = np.asarray(frame.reshape(8, 3, 3)[::2, ::2])[1:]
    del frame
    pool.take(8, 9)[:] = 1
    assert (corner == 7).all()


def test_more_than_are_kept_and_another_size() -> None:
    pool = FramePool(1)
    frames = [pool.take(5, 3) for _ in range(4)]
    for number, frame in enumerate(frames):
        frame[:] = number
    assert [int(frame.min()) for frame in frames] == [int(frame.max()) for frame in frames] == [0, 1, 2, 3]
    small = pool.take(2, 3)
    frames.clear()
    small[:] = 9
    assert pool.take(2, 3).shape == (2, 3)
    assert (small == 9).all()


def test_large_frames_are_kept_within_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgekit.runtime.sources.frame_pool.MOST_BYTES", 100)
    pool = FramePool(10)
    held = [pool.take(4, 10) for _ in range(5)]
    places = [address(frame) for frame in held]
    held.clear()
    assert {address(frame) for frame in (pool.take(4, 10), pool.take(4, 10))} <= set(places[:2])


def test_a_copy_is_the_same_picture() -> None:
    image = np.random.default_rng(0).integers(0, 255, (6, 10, 3), np.uint8)
    turned = image[::-1, ::2]
    assert np.array_equal(FramePool(1).copy(turned), turned)


def test_memory_does_not_grow_while_frames_wait() -> None:
    pool, process = FramePool(12), psutil.Process()
    pool.take(720, 3840)
    before = process.memory_info().rss
    for waiting in (1, 12, 3, 12):
        held = [pool.take(720, 3840) for _ in range(waiting)]
        for frame in held:
            frame[:] = waiting
        assert process.memory_info().rss - before < 5e6, f"{waiting} frames of 2.8 MB wait"
        held.clear()
