"""The power goes while a row is open: what is on the disk counts, and what is missing is told."""

from __future__ import annotations

import shutil
import sqlite3
import time

import pytest
from ride import PacedCamera, Ride, scene, site, stored, window_frames
from run_scene import MagentaSegmenter

from edgekit.errors import StorageError
from edgekit.runtime.live.runs import run_folders
from edgekit.runtime.live.space import SpaceSettings
from edgekit.runtime.live.takeup import _gap
from edgekit.store import Sitting


def cut_ride(tmp_path, *, pause_s=0.0):
    """A copy of the run folder as the power cut leaves it, in the middle of a row."""
    cameras = {"left": PacedCamera()}
    with Ride(site(tmp_path / "runs", ("left",)), cameras, [MagentaSegmenter(pause_s=pause_s)]) as ride:
        ride.start("7")
        cameras["left"].show(window_frames(scene())[:40])
        ride.until(lambda: cameras["left"].done)
        ride.until(lambda: len(list((tmp_path / "runs").rglob("segment_*.png"))) >= 3)
        time.sleep(0.6)  # longer than between two commits
        shutil.copytree(tmp_path / "runs", tmp_path / "cut", ignore=shutil.ignore_patterns("*.sock*", "*-shm"))
    return tmp_path / "cut"


@pytest.mark.parametrize("pause_s", [0.0, 0.1])
def test_an_open_row_is_closed_with_what_is_on_the_disk(tmp_path, pause_s):
    out = cut_ride(tmp_path, pause_s=pause_s)
    with Ride(site(out, ("left",)), {"left": PacedCamera()}) as ride:
        ride.until(lambda: stored(out).rows["7 left"].state == "merged")
        gap = ride.status().gap
    found = stored(out)
    row = found.rows["7 left"]
    assert row.width_px == 300 * len(list(out.rglob("segment_*.png")))
    assert row.fruit > 30
    assert "cut off" in row.remarks[0]
    assert gap is not None
    assert "1 rows were open" in gap.what
    assert gap.what in [event.message for event in found.events if event.kind == "gap"]


def test_the_same_row_gives_the_same_fruit_whenever_its_tiles_are_segmented(tmp_path):
    early, late = cut_ride(tmp_path), tmp_path / "late"
    shutil.copytree(early, late)
    for folder in run_folders(late):
        connection = sqlite3.connect(folder / "run.sqlite")
        with connection:
            connection.execute("DELETE FROM detections")
            connection.execute("DELETE FROM tiles")
        connection.close()
    for out in (early, late):
        with Ride(site(out, ("left",)), {"left": PacedCamera()}) as ride:
            ride.until(lambda: stored(out).rows["7 left"].state == "merged")  # noqa: B023
    assert stored(early).rows["7 left"].fruit == stored(late).rows["7 left"].fruit


def test_half_files_are_set_aside_and_a_segment_that_is_damaged_costs_its_stretch_alone(tmp_path, caplog):
    out = cut_ride(tmp_path, pause_s=3.0)  # not one tile is done
    segments = sorted(out.rglob("segment_*.png"))
    segments[1].write_bytes(segments[1].read_bytes()[:200])
    segments[0].with_name(".segment_00003.1a2b3c4d.partial.png").write_bytes(b"half")
    with Ride(site(out, ("left",), run_per="start"), {"left": PacedCamera()}) as ride:
        ride.until(lambda: stored(out).rows["7 left"].state == "merged")
    assert 10 < stored(out).rows["7 left"].fruit < 50
    assert stored(out).finished
    assert [path.name for path in out.rglob("set-aside/*")] == [
        "1-panorama_row_000_.segment_00003.1a2b3c4d.partial.png"
    ]
    assert "nothing is counted in this stretch" in caplog.text


def test_short_of_space_pictures_go_and_the_run_is_counted_and_finished_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr("edgekit.runtime.live.run.LOOK_EVERY_S", 0.05)
    monkeypatch.setattr("edgekit.runtime.live.run.SPACE_EVERY_S", 0.1)
    where = site(tmp_path / "runs", ("left",), run_per="start", space=SpaceSettings(reserve_mb=9e8))
    cameras = {"left": PacedCamera()}
    with Ride(where, cameras) as ride:
        ride.start("1")
        cameras["left"].show(window_frames(scene()))
        ride.until(lambda: not stored(tmp_path / "runs").rows["1 left"].pictures)
        ride.until(lambda: cameras["left"].done)
        ride.stop_row()
        ride.until(lambda: ride.status().fruit == 60)
    found = stored(tmp_path / "runs")
    assert len(list(found.folder.path.rglob("segment_*.png"))) < 5
    assert found.finished
    assert all(path.exists() for path in found.folder.results)


def test_a_run_whose_panorama_is_gone_keeps_its_counts_and_does_not_hold_up_the_next(tmp_path, caplog):
    cameras = {"left": PacedCamera()}
    with Ride(site(tmp_path / "runs", ("left",), run_per="start"), cameras) as ride:
        ride.start("1")
        cameras["left"].show(window_frames(scene()))
        ride.until(lambda: cameras["left"].done)
        ride.stop_row()
        ride.until(lambda: ride.status().fruit == 60)
        shutil.rmtree(stored(tmp_path / "runs").folder.panorama)
    assert "left as it is" in caplog.text
    assert stored(tmp_path / "runs").rows["1 left"].fruit == 60


def test_a_damaged_database_is_left_as_it_is_and_a_new_run_begins(tmp_path):
    out = cut_ride(tmp_path)
    database = run_folders(out)[0] / "run.sqlite"
    database.write_bytes(b"x" * 5000)
    database.with_name("run.sqlite-wal").unlink(missing_ok=True)
    cameras = {"left": PacedCamera()}
    with Ride(site(out, ("left",)), cameras) as ride:
        ride.start("8")
        cameras["left"].show(window_frames(scene()))
        ride.until(lambda: cameras["left"].done)
        ride.stop_row()
        ride.until(lambda: ride.status().fruit == 60)
    assert database.read_bytes() == b"x" * 5000
    assert len(run_folders(out)) == 2


def test_a_run_of_another_model_is_left_and_a_new_one_begins(tmp_path):
    out = cut_ride(tmp_path)
    with Ride(site(out, ("left",)), {"left": PacedCamera()}, [MagentaSegmenter(weights_digest="1" * 64)]) as ride:
        ride.until(lambda: len(run_folders(out)) == 2)
        assert "was left" in ride.status().problems[0].text


@pytest.mark.parametrize(
    ("last", "told", "seconds"),
    [
        (Sitting("a", 100.0, "2026-01-01T00:00:00+00:00", True), None, None),
        (Sitting("a", 100.0, "2031-01-01T00:00:00+00:00", False), "for 60 s", 60.0),  # the clock jumped: no matter
        (Sitting("b", 9e9, "2026-01-01T00:00:00+00:00", False), "which may be wrong", 3600.0),
        (Sitting("b", 0.0, "2026-02-01T00:00:00+00:00", False), "set back", None),
    ],
)
def test_the_gap_is_told_whatever_the_clock_did(last, told, seconds):
    gap = _gap(last, Sitting("a", 160.0, "2026-01-01T01:00:00+00:00", False))
    assert (gap is None) == (told is None)
    if gap is not None:
        assert told in gap.what
        assert gap.seconds == seconds


def test_a_disk_that_fails_for_two_seconds_costs_nothing(tmp_path, monkeypatch, caplog):
    from edgekit.runtime.live import patience
    from edgekit.store import RunRecorder

    down = {"until": 0.0, "hits": 0}
    write, add, commit = patience.write_atomic, RunRecorder.add_tiles, RunRecorder.commit

    def failing(work):
        def tried(*given, **named):
            if time.monotonic() < down["until"]:
                down["hits"] += 1
                raise StorageError("cannot write: the disk reports an error")
            return work(*given, **named)

        return tried

    monkeypatch.setattr(patience, "write_atomic", failing(write))
    monkeypatch.setattr(RunRecorder, "add_tiles", failing(add))
    monkeypatch.setattr(RunRecorder, "commit", failing(commit))
    cameras = {"left": PacedCamera(rate_hz=15)}
    with Ride(site(tmp_path / "runs", ("left",)), cameras) as ride:
        ride.start("1")
        cameras["left"].show(window_frames(scene()))
        ride.until(lambda: ride.status().tiles > 2)
        down["until"] = time.monotonic() + 2.0
        ride.until(lambda: cameras["left"].done)
        ride.stop_row()
        ride.until(lambda: ride.status().fruit == 60)
    assert down["hits"] > 2
    assert "the disk is well again" in caplog.text
    assert stored(tmp_path / "runs").rows["1 left"].fruit == 60


def test_a_disk_that_stays_broken_ends_the_run_in_one_line_and_the_next_start_goes_on(tmp_path, monkeypatch):
    from edgekit.runtime.live import patience

    def broken(path, data):
        raise StorageError(f"cannot write {path}: the disk is full", mend="free some space")

    cameras = {"left": PacedCamera()}
    ride = Ride(site(tmp_path / "runs", ("left",)), cameras)
    with pytest.raises(StorageError, match="the disk is full"), ride:  # noqa: PT012 - the ride is what fails
        ride.start("1")
        cameras["left"].show(window_frames(scene())[:40])
        ride.until(lambda: ride.status().tiles > 2)
        monkeypatch.setattr(patience, "PATIENCE_S", 0.5)
        monkeypatch.setattr(patience, "write_atomic", broken)
        cameras["left"].show(window_frames(scene())[40:])
        ride.until(lambda: False)
    monkeypatch.undo()
    with Ride(site(tmp_path / "runs", ("left",)), {"left": PacedCamera()}) as again:
        again.until(lambda: stored(tmp_path / "runs").rows["1 left"].state == "merged")
    assert stored(tmp_path / "runs").rows["1 left"].fruit > 30
