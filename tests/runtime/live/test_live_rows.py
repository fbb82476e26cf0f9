"""Rows of two cameras: begun and ended by command, by movement and by the end of the run."""

from __future__ import annotations

import pytest
from ride import PacedCamera, Ride, ride_two_rows, scene, site, still, stored, window_frames
from run_scene import MagentaSegmenter

from edgekit.runtime.control import RowStart, RowStop
from edgekit.runtime.live.site import RowSettings


def test_two_sides_each_have_their_row_and_their_count(tmp_path):
    ride_two_rows(tmp_path / "runs")
    found = stored(tmp_path / "runs")
    assert {name: (row.state, row.fruit) for name, row in found.rows.items()} == {
        "12 left": ("merged", 60),
        "13 right": ("merged", 31),
    }


@pytest.mark.parametrize("batch", [1, 3])
def test_live_counts_are_those_of_the_same_frames_offline(tmp_path, batch):
    from run_scene import job, silent, write_png

    from edgekit.runtime.pipeline import run_job

    pictures = window_frames(scene())
    for number, picture in enumerate(pictures):
        write_png(tmp_path / f"frames/frame_{number:04d}.png", picture)
    offline = run_job(job(tmp_path / "frames", panorama=False), tmp_path / "off", [MagentaSegmenter()], progress=silent)
    cameras = {"left": PacedCamera()}
    with Ride(site(tmp_path / "runs", ("left",)), cameras, [MagentaSegmenter(batch=batch)]) as ride:
        ride.start("1")
        cameras["left"].show(pictures)
        ride.until(lambda: cameras["left"].done)
        ride.stop_row()
        ride.until(lambda: ride.status().fruit == 60)
    row = stored(tmp_path / "runs").rows["1 left"]
    assert (row.fruit, row.tiles, row.width_px) == (
        offline["fruit"], offline["tiles"], offline["panorama"]["width_px"],
    )  # fmt: skip


def test_movement_opens_rows_and_a_stop_ends_them(tmp_path):
    there, back = window_frames(scene()), window_frames(scene(), step_px=-25)
    cameras = {"left": PacedCamera(rate_hz=40)}
    rows = RowSettings(opened_by=("movement",), stop_s=1.0)
    with Ride(site(tmp_path / "runs", ("left",), rows=rows), cameras) as ride:
        cameras["left"].show([*there, *still(there[-1], 80), *back, *still(back[-1], 80)])
        ride.until(lambda: ride.status().fruit == 120)
    rows_found = stored(tmp_path / "runs").rows
    assert [(name, row.fruit) for name, row in rows_found.items()] == [("001 left", 60), ("002 left", 60)]


def test_a_trolley_that_turns_without_a_stop_begins_a_new_row(tmp_path):
    cameras = {"left": PacedCamera(rate_hz=40)}
    rows = RowSettings(opened_by=("movement",), stop_s=5.0)
    with Ride(site(tmp_path / "runs", ("left",), rows=rows), cameras) as ride:
        cameras["left"].show([*window_frames(scene()), *window_frames(scene(), step_px=-25)])
        ride.until(lambda: cameras["left"].done)
    first, second = stored(tmp_path / "runs").rows.values()
    assert first.width_px == 1500
    assert 1000 < second.width_px < 1400  # what had passed before the turn was sure belongs to the first


def test_a_new_row_ends_the_one_before_and_what_waits_at_the_end_is_done_at_the_next_start(tmp_path):
    cameras = {"left": PacedCamera()}
    with Ride(site(tmp_path / "runs", ("left",)), cameras, [MagentaSegmenter(pause_s=0.05)]) as ride:
        ride.start("1")
        cameras["left"].show(window_frames(scene()))
        ride.until(lambda: cameras["left"].done)
        ride.start("2")
        cameras["left"].show(window_frames(scene(7, 20)))
        ride.until(lambda: cameras["left"].done)
    stopped = stored(tmp_path / "runs").rows["2 left"]
    assert (stopped.state, stopped.width_px) == ("waiting", 1500)
    with Ride(site(tmp_path / "runs", ("left",)), {"left": PacedCamera()}) as ride:
        ride.until(lambda: stored(tmp_path / "runs").rows["2 left"].state == "merged")
    assert [row.fruit for row in stored(tmp_path / "runs").rows.values()] == [60, 20]


def test_a_row_whose_camera_gave_nothing_is_told_and_fails_alone(tmp_path):
    cameras = {"left": PacedCamera(), "right": PacedCamera()}
    with Ride(site(tmp_path / "runs"), cameras) as ride:
        ride.start("1", "left")
        ride.start("1", "right")
        cameras["left"].show(window_frames(scene()))
        ride.until(lambda: cameras["left"].done)
        ride.stop_row()
        ride.until(lambda: ride.status().fruit == 60)
    found = stored(tmp_path / "runs").rows
    assert found["1 left"].fruit == 60
    assert found["1 right"].state == "failed"
    assert "no frame" in found["1 right"].remarks[0]


def test_a_stop_says_which_rows_end(tmp_path):
    with Ride(site(tmp_path / "runs"), {"left": PacedCamera(), "right": PacedCamera()}) as ride:
        assert ride.ask(RowStop(None)).message == "no row is open on the left or right"
        ride.start("1", "left")
        assert ride.ask(RowStop(None)).message == "the row ends on the left"


def test_a_side_that_is_not_there_is_refused(tmp_path):
    with Ride(site(tmp_path / "runs"), {"left": PacedCamera(), "right": PacedCamera()}) as ride:
        assert "name it" in ride.ask(RowStart("1", None)).message
        assert "no camera looks to the side 'up'" in ride.ask(RowStart("1", "up")).message


def test_a_start_goes_on_with_the_run_of_the_day_and_finishes_that_of_another(tmp_path, monkeypatch):
    out = tmp_path / "runs"
    for row in ("1", "2"):
        cameras = {"left": PacedCamera()}
        with Ride(site(out, ("left",)), cameras) as ride:
            ride.start(row)
            cameras["left"].show(window_frames(scene()))
            ride.until(lambda: cameras["left"].done)  # noqa: B023
            ride.stop_row()
    assert [path.name[:6] for path in out.iterdir() if path.is_dir()] == ["000001"]
    assert not stored(out).finished
    monkeypatch.setattr("edgekit.runtime.live.service.day_of", lambda now, hour: "2031-01-01")
    with Ride(site(out, ("left",)), {"left": PacedCamera()}) as ride:
        ride.until(lambda: (out / "000002_2031-01-01/run.sqlite").exists())
    first = stored(out, 0)
    assert first.finished
    assert [row.fruit for row in first.rows.values()] == [60, 60]
    assert all(path.exists() for path in first.folder.results)
