"""A live run whose model hangs is not fed any more; one whose model fails ends at once, to be started again."""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from ride import PacedCamera, Ride, scene, site, window_frames
from run_scene import MagentaSegmenter

from edgekit.runtime.watch.settings import WatchdogSettings


@pytest.fixture
def manager(tmp_path: Path, monkeypatch):
    """What systemd is told."""
    told: list[str] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(tmp_path / "notify"))
        receiver.settimeout(0.05)
        ended = threading.Event()

        def listen() -> None:
            while not ended.is_set():
                with suppress(TimeoutError):
                    told.append(receiver.recv(4096).decode())

        thread = threading.Thread(target=listen)
        thread.start()
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "300000")
        monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
        yield told
        ended.set()
        thread.join()


class Hanging(MagentaSegmenter):
    """Stands still from its second batch on, as a driver that does not come back."""

    def __init__(self) -> None:
        super().__init__()
        self.go, self.batches = threading.Event(), 0

    def segment(self, tiles):
        self.batches += 1
        if self.batches > 1:
            self.go.wait(60)
        return super().segment(tiles)


class Failing(MagentaSegmenter):
    def segment(self, tiles):
        raise RuntimeError("CUDA error 700")


def test_a_model_that_hangs_is_not_fed_and_is_told(tmp_path: Path, manager) -> None:
    cameras, model = {"left": PacedCamera()}, Hanging()
    trolley = site(tmp_path / "runs", ("left",), watchdog=WatchdogSettings(patience_s=2))
    with Ride(trolley, cameras, [model]) as ride:
        ride.until(lambda: fed(manager) > 5)  # idle: alive
        ride.start("1")
        cameras["left"].show(window_frames(scene()) * 40)
        ride.until(lambda: ride.status().health == "fault")
        (problem,) = ride.status().problems
        assert "none was finished for" in problem.text
        assert ride.status().cameras[0].state == "ok"  # the cameras go on
        before = fed(manager)
        time.sleep(0.5)
        assert fed(manager) == before
        assert manager[-1].startswith("STATUS=stalled: ")
        model.go.set()
        ride.until(lambda: ride.status().health == "ok")
        ride.until(lambda: fed(manager) > before)


def test_a_model_that_fails_ends_the_run_within_seconds(tmp_path: Path, manager) -> None:
    cameras = {"left": PacedCamera(window_frames(scene()) * 40)}
    ride = Ride(site(tmp_path / "runs", ("left",)), cameras, [Failing()])
    begun_s = time.monotonic()
    with pytest.raises(RuntimeError, match="CUDA error 700"):
        ride_until_it_fails(ride)
    assert time.monotonic() - begun_s < 15


def ride_until_it_fails(ride: Ride) -> None:
    with ride:
        ride.start("1")
        ride.until(lambda: not ride._thread.is_alive())


def fed(told: list[str]) -> int:
    return told.count("WATCHDOG=1")
