"""The board: counters, ages, health; whole snapshots under many threads; there and back through JSON."""

from __future__ import annotations

import json
import threading

import pytest
from boards import Clock, two_cameras

from edgekit.runtime.watch import DeviceStatus, Gap, ModelStatus, Snapshot
from edgekit.runtime.watch.words import bytes_words, duration_words, one_line


def test_a_camera_counts_and_tells_its_rate_and_age() -> None:
    clock = Clock()
    board = two_cameras(clock)
    for _ in range(31):
        board.frame("cam-l")
        clock.wait(1 / 15)
    board.frame("cam-r", dropped=7)
    clock.wait(3)
    left, right = board.snapshot().cameras
    assert (left.frames, left.state, left.side) == (31, "ok", "left")
    assert left.rate_hz == pytest.approx(15)
    assert left.frame_age_s == pytest.approx(3 + 1 / 15)
    assert (right.frames, right.dropped, right.rate_hz) == (1, 7, None)
    clock.wait(20)
    assert board.snapshot().cameras[0].rate_hz is None


def test_a_lost_camera_is_a_fault_until_it_gives_a_frame() -> None:
    board = two_cameras()
    board.frame("cam-r")
    board.camera_fault("cam-r", "no frame in time")
    board.camera_fault("cam-r", "no frame in time")
    now = board.snapshot()
    assert now.health == "fault"
    assert now.problems[0].text == "the right camera cam-r gives no frames (no frame in time)"
    assert now.cameras[1].faults == 2
    board.frame("cam-r")
    assert board.snapshot().health == "ok"


def test_rows_open_count_and_close() -> None:
    clock = Clock()
    board = two_cameras(clock)
    board.placed("cam-l")
    board.row_opened("left", "12")
    board.placed("cam-l", 3)
    board.tiles_done(4, side="left")
    board.row_counts("left", fruit=20, length_m=3.5)
    board.row_counts("left", fruit=21)
    clock.wait(60)
    now = board.snapshot()
    row = now.rows[0]
    assert (row.row, row.open_s, row.frames, row.tiles, row.fruit, row.length_m) == ("12", 60, 3, 4, 21, 3.5)
    assert now.fruit == 21
    board.row_closed("left", fruit=22)
    board.fruit_counted(3)
    now = board.snapshot()
    assert (now.fruit, now.rows_done, now.rows[0].row, now.rows[0].fruit) == (25, 1, None, None)


def test_lag_grows_with_the_clock_and_ends_with_the_backlog() -> None:
    clock = Clock()
    board = two_cameras(clock)
    board.backlog(9, oldest_age_s=2)
    clock.wait(5)
    assert (board.snapshot().backlog_tiles, board.snapshot().lag_s) == (9, 7)
    assert "9 tiles wait, the oldest for 7 s" in one_line(board.snapshot())
    board.backlog(0)
    assert board.snapshot().lag_s == 0


def test_stages_fill_a_cumulative_histogram() -> None:
    board = two_cameras()
    for seconds in (0.0005, 0.001, 0.003, 99.0):
        board.stage("motion", seconds)
    board.stage("merge", 0.1)
    motion = board.snapshot().stages[0]
    assert (motion.count, motion.last_s) == (4, 99.0)
    assert motion.buckets[0] == 2  # 1 ms belongs to the bucket of up to 1 ms
    assert motion.buckets[2] == motion.buckets[-1] == 3
    assert board.snapshot().stages[1].name == "merge"


def test_problems_are_told_worst_first_and_can_be_solved() -> None:
    board = two_cameras()
    board.problem("space", "little space is left: 2 GB")
    board.problem("disk", "the disk is read-only", level="fault")
    board.device(DeviceStatus(temperatures_c={"tj": 96.4}, throttling=("thermal (gpu-throttle)",)))
    texts = [problem.text for problem in board.snapshot().problems]
    assert texts[0] == "the disk is read-only"
    assert "tj is at 96 C: give the box more air" in texts
    assert "the device slows itself down: thermal (gpu-throttle)" in texts
    board.solved("disk")
    board.solved("never was")
    assert board.snapshot().health == "degraded"


def test_a_snapshot_goes_through_json_and_back() -> None:
    board = two_cameras()
    board.frame("cam-l")
    board.row_opened("left", "Reihe_Ä")
    board.stage("infer", 0.2)
    board.device(DeviceStatus({"gpu": 50.0}, 8.1, "15W", 10, 20, 300.0, ("x",), {"clock": "not there"}))
    board.model(ModelStatus("yolo11", "auto", "cpu", "no GPU", 0.4, "autumn", "fits"))
    board.gap(Gap("the power was cut", 12.0))
    board.camera_fault("cam-r", "gone", state="off")
    now = board.snapshot()
    text = json.dumps(now.as_dict(), allow_nan=False)
    assert Snapshot.from_dict(json.loads(text)) == now
    newer = json.loads(text)
    newer["of_a_newer_release"] = newer["cameras"][0]["too"] = 1
    assert Snapshot.from_dict(newer) == now


@pytest.mark.parametrize("words", [{}, {"run": "x"}, {"cameras": 3}])
def test_what_is_no_snapshot_is_refused(words) -> None:
    with pytest.raises(ValueError, match="no status"):
        Snapshot.from_dict(words)


def test_many_threads_lose_nothing() -> None:
    board = two_cameras()

    def work(camera: str, side: str) -> None:
        for _ in range(500):
            board.frame(camera)
            board.placed(camera)
            board.tiles_done(side=side)
            board.stage("motion", 0.01)
            board.snapshot()

    threads = [threading.Thread(target=work, args=pair) for pair in [("cam-l", "left"), ("cam-r", "right")] * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    now = board.snapshot()
    assert now.tiles == 2000
    assert [camera.placed for camera in now.cameras] == [1000, 1000]
    assert now.stages[0].count == 2000


def test_words() -> None:
    assert [duration_words(s) for s in (7, 89, 200, 7300)] == ["7 s", "89 s", "3 min", "2 h 02 min"]
    assert [bytes_words(n) for n in (12_300_000, 64_000_000_000)] == ["12 MB", "64.0 GB"]
