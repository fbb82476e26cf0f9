"""One camera is unplugged, freezes or is never there: the other side goes on. Cameras are real streams (FFmpeg)."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from ride import SIZE_WH, WINDOW_PX, Ride, scene, site, stored, window_frames
from run_scene import write_png

from edgekit.runtime.live.gate import FRAMES_WAITING
from edgekit.runtime.live.service import FRAMES_HELD
from edgekit.runtime.sources import CameraDescription, LiveSettings, open_camera

RATE_HZ = 20
PATIENCE = LiveSettings(stall_s=1.5, first_pause_s=0.2, longest_pause_s=0.4)


class Streams:
    """Sends pictures at their pace to whoever connects to a port, without loss."""

    def __init__(self) -> None:
        self._started: list[subprocess.Popen[bytes]] = []

    def send(self, port: int, pictures: Sequence[np.ndarray], path) -> subprocess.Popen[bytes]:
        size = f"{WINDOW_PX}x{pictures[0].shape[0]}"
        raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-r", str(RATE_HZ)]
        path.write_bytes(b"".join(picture.tobytes() for picture in pictures))
        command = ["ffmpeg", "-v", "error", "-re", *raw, "-i", str(path), "-c:v", "ffv1", "-pix_fmt", "bgr0"]
        self._started.append(subprocess.Popen([*command, "-f", "nut", f"tcp://127.0.0.1:{port}?listen=1"]))
        return self._started[-1]

    def end(self) -> None:
        for process in self._started:
            process.kill()
            process.wait()


@pytest.fixture
def streams() -> Iterator[Streams]:
    started = Streams()
    yield started
    started.end()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def camera(port: int):
    description = CameraDescription("stream", f"tcp://127.0.0.1:{port}")
    return open_camera(description, settings=PATIENCE, held=FRAMES_HELD, waiting=FRAMES_WAITING)


def counted_beside(tmp_path, streams: Streams, left_port: int, trouble) -> tuple[Ride, object]:
    """Ride both sides; the right camera is well, the left one is in trouble. What the database holds then."""
    right_port = free_port()
    cameras = {"left": camera(left_port), "right": camera(right_port)}
    with Ride(site(tmp_path / "runs"), cameras) as ride:
        ride.start("1", "left")
        ride.start("1", "right")
        streams.send(right_port, window_frames(scene(6, 31)), tmp_path / "right.rgb")
        trouble(ride)
        ride.until(lambda: stored_frames(ride, "right") >= 51, 60)
        ride.stop_row()
        ride.until(lambda: ride.status().rows_done == 2)
        ride.until(lambda: stored(tmp_path / "runs").rows["1 right"].state == "merged")
        ride.until(lambda: stored(tmp_path / "runs").rows["1 left"].state in ("merged", "failed"))
    return ride, stored(tmp_path / "runs").rows


def stored_frames(ride: Ride, name: str) -> int:
    return next(entry.placed for entry in ride.status().cameras if entry.name == name)


def state(ride: Ride, name: str) -> str:
    return next(entry.state for entry in ride.status().cameras if entry.name == name)


@pytest.mark.parametrize("away_s", [4.0, pytest.param(30.0, marks=pytest.mark.slow)])
def test_a_camera_that_is_unplugged_and_comes_back(tmp_path, streams, away_s):
    port, pictures = free_port(), window_frames(scene())

    def trouble(ride: Ride) -> None:
        streams.send(port, pictures[:25], tmp_path / "first.rgb")
        ride.until(lambda: stored_frames(ride, "left") >= 25, 60)
        ride.until(lambda: state(ride, "left") == "lost")
        assert ride.status().health == "fault"
        time.sleep(away_s)
        streams.send(port, pictures[25:], tmp_path / "second.rgb")
        ride.until(lambda: stored_frames(ride, "left") >= 50, 60)
        assert state(ride, "left") == "ok"

    _, rows = counted_beside(tmp_path, streams, port, trouble)
    assert rows["1 right"].fruit == 31
    assert rows["1 left"].fruit >= 40
    assert any("gave no frame for" in remark for remark in rows["1 left"].remarks)


def test_a_camera_that_freezes_is_started_again(tmp_path, streams):
    port, pictures = free_port(), window_frames(scene())

    def trouble(ride: Ride) -> None:
        streams.send(port, [*pictures[:25], *[pictures[24]] * 200], tmp_path / "first.rgb")
        ride.until(lambda: state(ride, "left") in ("frozen", "lost"), 60)
        streams.send(port, pictures[25:], tmp_path / "second.rgb")
        ride.until(lambda: state(ride, "left") == "ok", 60)
        ride.until(lambda: stored_frames(ride, "left") >= 50, 60)

    _, rows = counted_beside(tmp_path, streams, port, trouble)
    assert rows["1 right"].fruit == 31
    assert rows["1 left"].fruit >= 40


def test_a_camera_that_is_never_there(tmp_path, streams):
    def trouble(ride: Ride) -> None:
        ride.until(lambda: state(ride, "left") == "lost")
        assert any("left" in problem.text for problem in ride.status().problems)

    _, rows = counted_beside(tmp_path, streams, free_port(), trouble)
    assert rows["1 right"].fruit == 31
    assert rows["1 left"].state == "failed"


@pytest.mark.skipif(shutil.which("gst-launch-1.0") is None, reason="GStreamer's tools are not installed")
def test_a_gstreamer_pipeline_counts_beside_a_stream_and_ends_with_the_run(tmp_path, streams):
    pictures, right_port = window_frames(scene()), free_port()
    for number, picture in enumerate(pictures):
        write_png(tmp_path / f"frame_{number:04d}.png", picture)
    pipeline = (
        f"multifilesrc location={tmp_path}/frame_%04d.png caps=image/png,framerate={RATE_HZ}/1"
        " ! pngdec ! identity sync=true"
    )
    description = CameraDescription("gstreamer", pipeline=pipeline, size_wh=(WINDOW_PX, SIZE_WH[1]))
    patient = LiveSettings(first_pause_s=60.0, longest_pause_s=60.0)  # the pipeline ends with its pictures
    cameras = {
        "left": open_camera(description, settings=patient, held=FRAMES_HELD, waiting=FRAMES_WAITING),
        "right": camera(right_port),
    }
    with Ride(site(tmp_path / "runs"), cameras) as ride:
        ride.start("1", "left")
        ride.start("1", "right")
        streams.send(right_port, window_frames(scene(6, 31)), tmp_path / "right.rgb")
        ride.until(lambda: all(stored_frames(ride, side) >= len(pictures) for side in cameras), 60)
        ride.stop_row()
        ride.until(lambda: ride.status().fruit == 91)
        assert sum(entry.dropped for entry in ride.status().cameras) == 0
