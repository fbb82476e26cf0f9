"""One encoder for every camera of a trolley: it gives the scale of each row, and its outages are told."""

from __future__ import annotations

import os
import time

import pytest
from ride import PacedCamera, Ride, scene, site, window_frames

from edgekit.errors import SettingsError
from edgekit.runtime.encoder import EncoderSettings
from edgekit.runtime.live.runs import run_folders
from edgekit.runtime.live.trolley_encoder import Shared, TrolleyEncoder, open_encoder
from edgekit.runtime.watch.board import StatusBoard
from edgekit.store import RunFolder, RunReader

MM_A_FRAME = 12.5  # 25 px a frame: 2000 px a metre


class WheelCamera(PacedCamera):
    """A camera on a trolley whose wheel turns with its frames: camera and encoder in one."""

    trouble: str | None = None
    wheel_closed = False

    def __init__(self) -> None:
        super().__init__()
        self._mm_at: dict[float, float] = {}

    def __iter__(self):
        for frame in super().__iter__():
            self._mm_at[frame.time_s] = frame.sequence * MM_A_FRAME
            yield frame

    def odometer(self):
        camera = self

        class Wheel:
            faults = ()

            @property
            def trouble(self):
                return camera.trouble

            def position_mm(self, time_s):
                return None if camera.trouble else camera._mm_at.get(time_s)

            def close(self):
                camera.wheel_closed = True

        return Wheel()


def test_the_encoder_gives_each_row_its_scale_and_an_outage_is_told(tmp_path, monkeypatch):
    camera = WheelCamera()
    monkeypatch.setattr(
        "edgekit.runtime.live.service.open_encoder", lambda settings, board: TrolleyEncoder(camera.odometer(), board)
    )
    with Ride(site(tmp_path / "runs", ("left",)), {"left": camera}) as ride:
        for row, trouble in (("1", None), ("2", "unplugged"), ("3", None)):
            camera.trouble = trouble
            ride.until(lambda: ("encoder" in str(ride.status().problems)) == bool(camera.trouble))
            ride.start(row)
            camera.show(window_frames(scene()))
            ride.until(lambda: camera.done)
            ride.stop_row()
            camera.trouble = None
            ride.until(lambda: "encoder" not in str(ride.status().problems))
        ride.until(lambda: ride.status().fruit == 180)
        assert not camera.wheel_closed
    assert camera.wheel_closed
    reader = RunReader.open(RunFolder(run_folders(tmp_path / "runs")[-1]).database)
    scales = {source.row: source.px_per_metre for source in reader.sources()}
    remarks = [event.message for event in reader.events() if "encoder" in event.message]
    reader.close()
    assert (scales["1"], scales["3"]) == (pytest.approx(2000, rel=0.02), pytest.approx(2000, rel=0.02))
    assert scales["2"] is None
    assert len(remarks) == 1
    assert "no scale" in remarks[0]


def test_faults_are_those_of_one_row():
    class Dusty:
        faults: tuple[str, ...] = ("3 lines are no positions",)

        def position_mm(self, time_s):
            return time_s

        def close(self):
            raise AssertionError("the encoder goes on")

    dusty = Dusty()
    row = Shared(dusty)
    assert row.faults == dusty.faults
    row.close()
    assert row.faults == ()
    dusty.faults = (*dusty.faults, "the port went away")
    assert row.faults == ("the port went away",)


def test_a_port_that_comes_later_is_waited_for_and_a_recording_is_refused(tmp_path):
    pytest.importorskip("serial")
    board = StatusBoard("runs", [("left", "left")])
    assert open_encoder(EncoderSettings(), board) is None
    (tmp_path / "row.csv").write_text("time_s,position_mm\n")
    with pytest.raises(SettingsError, match="a recording"):
        open_encoder(EncoderSettings(file=str(tmp_path / "row.csv")), board)
    encoder = open_encoder(EncoderSettings(file=str(tmp_path / "ttyUSB0")), board)
    assert encoder is not None
    try:
        look_until(encoder, lambda: "encoder" in str(board.snapshot().problems))
        master, slave = os.openpty()
        (tmp_path / "ttyUSB0").symlink_to(os.ttyname(slave))
        look_until(encoder, lambda: not board.snapshot().problems)
        shared = encoder.shared()
        look_until(encoder, lambda: os.write(master, b"mm 7\n") > 0 and shared.position_mm(time.monotonic()) == 7.0)
    finally:
        encoder.close()
    os.close(master)
    os.close(slave)


def look_until(encoder, holds) -> None:
    end_s = time.monotonic() + 30
    while not holds():
        encoder.look()
        assert time.monotonic() < end_s
        time.sleep(0.02)
