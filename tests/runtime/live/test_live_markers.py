"""Printed markers open and close rows while cameras run, each on its own side, and no fruit between rows counts."""

from __future__ import annotations

import cv2
import numpy as np
from ride import PacedCamera, Ride, scene, site, stored, window_frames
from run_scene import strip

from edgekit.contracts import Image
from edgekit.runtime.live.site import RowSettings
from edgekit.runtime.markers import MarkerSettings

HEIGHT_PX = 200
LOOKED_AT = MarkerSettings(kinds=("qr",), every_s=0.0, gone_s=0.5)
BY_MARKER = RowSettings(opened_by=("marker",))


def post(text: str) -> Image:
    """A stretch of leaves with a printed code in its middle."""
    leaves = strip((400, HEIGHT_PX), [])
    code = cv2.resize(cv2.QRCodeEncoder.create().encode(text), (160, 160), interpolation=cv2.INTER_NEAREST)
    leaves[20:180, 120:280] = code[:, :, None]
    return leaves


def ride_along(*parts: Image) -> list[Image]:
    return window_frames(np.hstack(parts))


def test_markers_open_and_close_rows_of_their_side(tmp_path):
    cameras = {"left": PacedCamera(rate_hz=30), "right": PacedCamera(rate_hz=30)}
    with Ride(site(tmp_path / "runs", rows=BY_MARKER, markers=LOOKED_AT), cameras) as ride:
        between = scene(8, 9)
        first = [post("row:12:left:start"), scene(), post("row:12:left:end")]
        second = [post("row:13"), scene(7, 20), post("row:13")]
        cameras["left"].show(ride_along(*first, between, *second))
        cameras["right"].show(ride_along(*first, between))
        ride.until(lambda: cameras["left"].done and cameras["right"].done, 60)
        ride.until(lambda: ride.status().rows_done == 2 and not any(ride.open_rows()), 60)
        ride.until(lambda: ride.status().fruit == 80, 60)
    rows = stored(tmp_path / "runs").rows
    assert {name: (row.state, row.fruit) for name, row in rows.items()} == {
        "12 left": ("merged", 60),
        "13 left": ("merged", 20),
    }


def test_the_next_rows_marker_ends_a_row_whose_end_was_not_read(tmp_path):
    cameras = {"left": PacedCamera(rate_hz=30)}
    with Ride(site(tmp_path / "runs", ("left",), rows=BY_MARKER, markers=LOOKED_AT), cameras) as ride:
        cameras["left"].show(ride_along(post("row:1"), scene(), post("row:2"), scene(7, 20), post("row:2:end")))
        ride.until(lambda: ride.status().fruit == 80, 60)
    assert [(name, row.fruit) for name, row in stored(tmp_path / "runs").rows.items()] == [
        ("1 left", 60),
        ("2 left", 20),
    ]


def test_a_command_ends_a_row_that_a_marker_opened_and_its_end_marker_opens_none(tmp_path):
    cameras = {"left": PacedCamera(rate_hz=30)}
    rows = RowSettings(opened_by=("marker", "command"))
    with Ride(site(tmp_path / "runs", ("left",), rows=rows, markers=LOOKED_AT), cameras) as ride:
        cameras["left"].show(ride_along(post("row:5"), scene()))
        ride.until(lambda: cameras["left"].done and ride.open_rows() == ["5"], 60)
        ride.stop_row()
        cameras["left"].show(ride_along(scene(8, 9), post("row:5")))
        ride.until(lambda: cameras["left"].done, 60)
        ride.until(lambda: ride.status().fruit == 60, 60)
        assert not any(ride.open_rows())
    assert [row.fruit for row in stored(tmp_path / "runs").rows.values()] == [60]
