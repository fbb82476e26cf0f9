"""sd_notify over a real datagram socket; the watchdog is fed by work alone."""

from __future__ import annotations

import os
import select
import socket
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from boards import Clock, two_cameras

from edgekit.errors import SettingsError
from edgekit.runtime.watch.notify import Notifier
from edgekit.runtime.watch.settings import WatchdogSettings
from edgekit.runtime.watch.starting import starting_up
from edgekit.runtime.watch.watchdog import Watchdog, WorkJudge

SETTINGS = WatchdogSettings(patience_s=10, no_frames_s=60)


@contextmanager
def manager(address: str):
    """A service manager's socket; yields it and the environment of its service."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(address)
        receiver.settimeout(2)
        yield receiver, {"NOTIFY_SOCKET": address.replace("\0", "@")}


def told(receiver: socket.socket) -> list[str]:
    """What lies in the socket now."""
    messages = []
    while select.select([receiver], [], [], 0)[0]:
        messages.append(receiver.recv(4096).decode())
    return messages


@pytest.mark.parametrize("abstract", [False, True])
def test_messages_arrive(tmp_path: Path, abstract: bool) -> None:
    address = f"\0edgekit-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with manager(address) as (receiver, environment):
        notifier = Notifier(environment)
        assert notifier.active
        notifier.ready()
        notifier.status("two\nlines and a READY=1")
        notifier.feed()
        notifier.extend(2.5)
        notifier.stopping()
        assert told(receiver) == [
            "READY=1", "STATUS=two lines and a READY=1", "WATCHDOG=1", "EXTEND_TIMEOUT_USEC=2500000", "STOPPING=1",
        ]  # fmt: skip


def test_without_a_manager_or_with_one_that_is_gone_nothing_happens(tmp_path: Path, caplog) -> None:
    assert not Notifier({}).active
    Notifier({}).ready()
    Notifier({"NOTIFY_SOCKET": "relative/path"}).ready()
    assert not caplog.records
    Notifier({"NOTIFY_SOCKET": str(tmp_path / "gone")}).ready()
    assert "cannot tell systemd READY" in caplog.text


@pytest.mark.parametrize(("environment", "seconds"), [
    ({"WATCHDOG_USEC": "30000000"}, 30), ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 30),
    ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None), ({"WATCHDOG_USEC": "0"}, None),
    ({"WATCHDOG_USEC": "soon"}, None), ({}, None),
])  # fmt: skip
def test_the_interval_is_systemds(environment, seconds) -> None:
    assert Notifier(environment).watchdog_s == seconds


class Night:
    """A run at 15 frames a second whose stages the test can stop."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.board = two_cameras(self.clock)
        self.judge = WorkJudge(SETTINGS, clock=self.clock)
        self.coming = {"cam-l", "cam-r"}
        self.placing = {"cam-l", "cam-r"}
        self.segmenting = True

    def go(self, seconds: int) -> tuple[str, ...]:
        """Live so long; what stands still at the end."""
        stalls: tuple[str, ...] = ()
        for _ in range(seconds):
            for camera in sorted(self.coming):
                self.board.frame(camera)
                if camera in self.placing:
                    self.board.placed(camera)
            if self.segmenting:
                self.board.tiles_done()
            self.clock.wait(1)
            stalls = self.judge.stalls(self.board.snapshot())
        return stalls


def test_a_run_that_works_is_alive() -> None:
    night = Night()
    night.board.row_opened("left", "12")
    night.board.backlog(40)
    assert night.go(120) == ()


def test_a_stage_that_places_no_frames_is_a_stall_and_its_recovery_none() -> None:
    night = Night()
    night.board.row_opened("left", "12")
    assert night.go(20) == ()
    night.placing.discard("cam-l")
    assert night.go(9) == ()
    (stall,) = night.go(5)
    assert stall.startswith("frames of cam-l are not placed any more")
    night.placing.add("cam-l")
    assert night.go(2) == ()


def test_a_segmenter_that_stands_still_is_a_stall_only_with_tiles_to_do() -> None:
    night = Night()
    night.segmenting = False
    assert night.go(100) == ()  # idle: no backlog
    night.board.backlog(3)
    assert night.go(9) == ()
    (stall,) = night.go(5)
    assert stall.startswith("3 tiles wait and none was finished")


def test_between_rows_nothing_has_to_be_placed() -> None:
    night = Night()
    night.placing.clear()
    assert night.go(600) == ()
    night.board.row_opened("right", "7")
    assert night.go(9) == ()
    assert "cam-r" in night.go(5)[0]


def test_a_reading_thread_that_died_is_a_stall_a_camera_known_to_be_lost_is_none() -> None:
    night = Night()
    night.board.row_opened("left", "12")
    assert night.go(5) == ()
    night.coming.discard("cam-l")
    assert "nobody reads the camera cam-l" in night.go(15)[0]
    night.board.camera_fault("cam-l", "no frame in time")
    assert night.go(300) == ()  # the right one goes on


def test_no_camera_at_all_is_a_stall_in_the_end() -> None:
    night = Night()
    night.coming.clear()
    for camera in ("cam-l", "cam-r"):
        night.board.camera_fault(camera, "no such device")
    assert night.go(55) == ()
    assert night.go(10) == ("no camera gave a frame for 64 s",)


def test_the_feeding_thread_feeds_and_stops(tmp_path: Path) -> None:
    with manager(str(tmp_path / "notify")) as (receiver, environment):
        night = Night()
        dog = Watchdog(night.board, Notifier(environment | {"WATCHDOG_USEC": "90000"}), night.judge)
        night.go(1)
        dog.start()
        assert heard(receiver, "WATCHDOG=1")
        assert heard(receiver, "STATUS=ok, left: between rows")
        night.board.backlog(5)
        assert heard(receiver, "STATUS=ok, left: between rows, right: between rows, 0 fruit in all, 5 tiles wait")
        for camera in ("cam-l", "cam-r"):
            night.board.frame(camera)
        night.clock.wait(11)
        for camera in ("cam-l", "cam-r"):
            night.board.frame(camera)
        assert heard(receiver, "STATUS=stalled: 5 tiles wait")
        assert night.board.snapshot().health == "fault"
        assert not {receiver.recv(4096).decode()[:16] for _ in range(4)} - {"STATUS=stalled: "}
        night.board.tiles_done()
        assert heard(receiver, "WATCHDOG=1")
        dog.close()
        assert night.board.snapshot().health == "ok"


def heard(receiver: socket.socket, start: str) -> bool:
    """True once a message begins like this; the socket's time limit ends the wait."""
    receiver.settimeout(20)
    return any(receiver.recv(4096).decode().startswith(start) for _ in range(200))


def test_a_long_start_asks_for_time_until_it_is_done(tmp_path: Path) -> None:
    with manager(str(tmp_path / "notify")) as (receiver, environment):
        with starting_up(Notifier(environment), every_s=0.05) as done:
            assert heard(receiver, "EXTEND_TIMEOUT_USEC=150000")
            assert heard(receiver, "EXTEND_TIMEOUT_USEC=150000")
            done()
            time.sleep(0.2)
            told(receiver)
            time.sleep(0.2)
            assert told(receiver) == []
        with starting_up(Notifier(environment), every_s=0.02, longest_s=0.04):
            time.sleep(0.5)
            assert len(told(receiver)) == 2
    with starting_up(Notifier({})) as done:
        done()


def test_an_end_is_told_once_and_is_no_stall(tmp_path: Path) -> None:
    with manager(str(tmp_path / "notify")) as (receiver, environment):
        night = Night()
        night.board.backlog(5)
        night.segmenting = False
        night.go(9)
        night.board.stopping()
        assert night.go(100) == ()
        dog = Watchdog(night.board, Notifier(environment), night.judge)
        assert dog.look()
        assert dog.look()
        messages = told(receiver)
        assert messages.count("STOPPING=1") == 1
        assert messages[-1].startswith("STATUS=ending")


def test_a_stage_that_holds_its_camera_up_is_a_stall_though_the_camera_seems_lost() -> None:
    """A panorama thread that hangs fills its queue; then the camera's thread waits as well, and no frame comes."""
    night = Night()
    night.board.row_opened("left", "12")
    night.go(5)
    night.placing.discard("cam-l")
    night.go(2)  # the queue is full
    night.coming.discard("cam-l")
    night.board.camera_fault("cam-l", "no frame")
    assert "frames of cam-l are not placed any more" in night.go(15)[0]


def test_cameras_that_nobody_wants_to_read_are_no_stall() -> None:
    night = Night()
    coming, night.coming = night.coming, set()
    assert night.go(1000) == ()  # repairs after a power cut
    night.coming = coming
    night.go(5)
    night.coming = set()
    for camera in ("cam-l", "cam-r"):
        night.board.camera_idle(camera)
    assert night.go(1000) == ()  # a night's results are written
    assert night.board.snapshot().health == "ok"
    for camera in ("cam-l", "cam-r"):
        night.board.camera_starting(camera)
    assert night.go(9) == ()
    assert "nobody reads the camera cam-l" in night.go(5)[0]


@pytest.mark.parametrize("seconds", [0, -1, 1e9])
def test_limits_that_would_end_every_run_are_refused(seconds) -> None:
    with pytest.raises(SettingsError, match=r"watchdog\.patience_s"):
        WatchdogSettings(patience_s=seconds)
