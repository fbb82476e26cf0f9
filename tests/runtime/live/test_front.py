"""The first seconds of a trolley: somebody answers while the model is being loaded."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import pytest
from ride import site

from edgekit.cli.run_site import run_site
from edgekit.errors import ModelError, RunFolderError
from edgekit.runtime.control import Reply, RowStart, StatusQuery, Stop, ask, run_socket
from edgekit.runtime.live.front import Front
from edgekit.runtime.watch import Snapshot
from edgekit.runtime.watch.board import StatusBoard
from edgekit.runtime.watch.http_server import health
from edgekit.runtime.watch.words import one_line


@pytest.fixture
def front(tmp_path):
    out = tmp_path / "runs"
    with Front(site(out), StatusBoard("runs", [("cam", "left")]), threading.Event()) as front:
        yield front


def test_until_the_model_is_there_the_state_says_so(front, tmp_path):
    now = Snapshot.from_dict(dict(ask(run_socket(tmp_path / "runs"), StatusQuery()).data))
    assert (now.starting, now.health, now.run) == ("loading the model", "ok", "runs")
    assert one_line(now).startswith("loading the model, left: between rows")
    assert health(now)["starting"] == "loading the model"
    front.answered_by(lambda command: Reply(True, "done"))
    assert front.board.snapshot().starting is None
    assert ask(run_socket(tmp_path / "runs"), RowStart("12")).message == "done"


def test_until_then_it_can_be_stopped_and_nothing_else(front, tmp_path):
    for order in (RowStart("12"), Stop(finish=True)):
        refused = ask(run_socket(tmp_path / "runs"), order)
        assert (refused.ok, refused.message[:40]) == (False, "no run is open yet: loading the model - ")
        assert not front.stop.is_set()
    assert ask(run_socket(tmp_path / "runs"), Stop()).ok
    assert front.stop.is_set()
    assert front.board.snapshot().stopping


def test_a_second_trolley_in_the_same_place_is_told_before_its_model_is_loaded(front, tmp_path):
    second = Front(site(tmp_path / "runs"), StatusBoard("runs", []), threading.Event())
    with pytest.raises(RunFolderError, match="another edgekit runs here"), second:
        pass


def test_the_site_answers_before_its_model_is_opened(tmp_path, monkeypatch):
    seen = []

    @contextmanager
    def opening(path, engine):
        seen.append(ask(tmp_path / "edgekit.sock", StatusQuery()).data["starting"])
        raise ModelError("enough seen")
        yield

    monkeypatch.setattr("edgekit.runtime.models.opened_models", opening)
    monkeypatch.setattr("edgekit.runtime.live.processor.share_processor", lambda: None)  # of the whole process
    (tmp_path / "trolley.toml").write_text(
        'out = "rides"\ncontrol = "edgekit.sock"\n[metrics]\nenabled = false\n[[cameras]]\nname = "cam"\n'
        'side = "left"\n[cameras.camera]\nkind = "stream"\naddress = "udp://127.0.0.1:9"\n'
    )
    with pytest.raises(ModelError, match="enough seen"):
        run_site(tmp_path / "trolley.toml")
    assert seen == ["loading the model"]
    assert not (tmp_path / "edgekit.sock").exists()
