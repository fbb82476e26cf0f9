"""The end of a live run: what is left is told, and `edgekit stop --finish` leaves nothing."""

from __future__ import annotations

import logging
import threading

import pytest
from ride import PacedCamera, Ride, scene, site, stored, window_frames
from run_scene import MagentaSegmenter
from typer.testing import CliRunner

from edgekit.cli.main import app
from edgekit.runtime.control import RowStart, Stop, run_socket
from edgekit.runtime.live.runs import run_folders


class HeldSegmenter(MagentaSegmenter):
    """A model that does nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go, self.asked = threading.Event(), threading.Event()

    def segment(self, tiles):
        self.asked.set()
        assert self.go.wait(60)
        return super().segment(tiles)


@pytest.fixture
def model():
    held = HeldSegmenter()
    yield held
    held.go.set()


def begun(out, model):
    """A ride whose row 14 is open; its panorama is on the disk but for the end, its tiles wait."""
    camera = PacedCamera()
    ride = Ride(site(out, ("left",)), {"left": camera}, [model])
    ride.__enter__()
    ride.start("14")
    camera.show(window_frames(scene()))
    ride.until(lambda: camera.done and model.asked.is_set() and ride.status().backlog_tiles > 3)
    return ride


def let_go_at_the_end(ride, model):
    """The model finishes what it has in hand when it can get nothing more."""
    ride.until(lambda: ride._service._run._backlog._closed)
    model.go.set()


def test_a_stop_says_which_rows_wait_for_the_next_start(tmp_path, model, caplog):
    ride = begun(tmp_path, model)
    with caplog.at_level(logging.WARNING, "edgekit"):
        reply = ride.ask(Stop())
        let_go_at_the_end(ride, model)
        ride.end()
    end, left = reply.message.splitlines()
    assert "then edgekit ends" in end
    assert left.startswith("row 14 left waits for the model (about ")
    assert left.endswith("tiles): the next start counts it")
    assert any(message.startswith("row 14 left waits for the model (about ") for message in caplog.messages)
    (folder,) = run_folders(tmp_path)
    assert not stored(tmp_path).finished
    assert "`edgekit stop --finish` finishes it" in CliRunner().invoke(app, ["count", str(folder)]).output


def test_finish_counts_what_waits_and_finishes_the_run(tmp_path, model):
    ride = begun(tmp_path, model)
    assert ride.ask(Stop(finish=True)).ok
    assert ride.status().run == run_folders(tmp_path)[0].name
    refused = ride.ask(RowStart("15", None))
    assert (refused.ok, "edgekit is ending" in refused.message) == (False, True)
    model.go.set()
    ride.end_by_itself()
    found = stored(tmp_path)
    assert found.finished
    assert [(name, row.state, row.fruit) for name, row in found.rows.items()] == [("14 left", "merged", 60)]
    assert all(path.exists() for path in found.folder.results)


def test_a_signal_ends_a_run_that_is_being_finished(tmp_path, model, caplog):
    ride = begun(tmp_path, model)
    assert ride.ask(Stop(finish=True)).ok
    ride.until(lambda: ride.status().cameras[0].state == "idle")
    ride.stop.set()  # what SIGTERM does
    with caplog.at_level(logging.WARNING, "edgekit"):
        let_go_at_the_end(ride, model)
        ride.end()
    assert not stored(tmp_path).finished
    assert any(message.startswith("row 14 left waits for the model") for message in caplog.messages)
    with Ride(site(tmp_path, ("left",)), {"left": PacedCamera()}) as again:
        again.until(lambda: stored(tmp_path).rows["14 left"].fruit == 60)


def test_the_command_waits_until_the_run_is_finished(tmp_path, model, monkeypatch):
    monkeypatch.setattr("edgekit.cli.stop.LOOK_EVERY_S", 0.05)
    ride = begun(tmp_path, model)
    model.go.set()
    done = CliRunner().invoke(app, ["stop", "--finish", "--socket", str(run_socket(tmp_path))])
    ride.end_by_itself()
    (folder,) = run_folders(tmp_path)
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[-1] == f"{folder} is finished"
    assert stored(tmp_path).finished


def test_the_command_fails_where_the_run_was_ended_before(tmp_path, model, monkeypatch):
    monkeypatch.setattr("edgekit.cli.stop.LOOK_EVERY_S", 0.05)
    ride = begun(tmp_path, model)

    def end() -> None:
        ride.until(lambda: ride.status().cameras[0].state == "idle")
        ride.stop.set()
        let_go_at_the_end(ride, model)

    ending = threading.Thread(target=end)
    ending.start()
    done = CliRunner().invoke(app, ["stop", "--finish", "--socket", str(run_socket(tmp_path))])
    ending.join()
    ride.end()
    assert done.exit_code != 0
    assert "was finished" in str(done.exception)


def test_a_run_without_rows_is_finished_too(tmp_path):
    ride = Ride(site(tmp_path, ("left",)), {"left": PacedCamera()})
    ride.__enter__()
    assert ride.ask(Stop(finish=True)).ok
    ride.end_by_itself()
    assert stored(tmp_path).finished
