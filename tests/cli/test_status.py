"""`edgekit status` and `edgekit row` from another process, against a run's board and socket."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgekit.errors import SettingsError
from edgekit.runtime.control import ControlServer, Reply, RowStart, RowStop, StatusQuery, Stop, run_socket
from edgekit.runtime.watch import DeviceStatus, Gap, ModelStatus, StatusBoard

EDGEKIT = [sys.executable, "-c", "from edgekit.cli.main import main; main()"]


class Night:
    """A run's folder, board and commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.board = StatusBoard("night 3", [("cam-l", "left"), ("cam-r", "right")])

    def handle(self, command) -> Reply:
        if isinstance(command, StatusQuery):
            return Reply(True, "", self.board.snapshot().as_dict())
        if isinstance(command, RowStart):
            if command.side not in ("left", "right"):
                raise SettingsError(f"which side? ({command.side})", mend="use --side left or right")
            self.board.row_opened(command.side, command.row)
            return Reply(True, f"row {command.row} is open on the {command.side}")
        if isinstance(command, Stop):
            return Reply(True)
        assert isinstance(command, RowStop)
        self.board.row_closed(command.side or "left")
        return Reply(True, "closed")

    def ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [*EDGEKIT, *words, "--run", str(self.folder)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def night(tmp_path: Path) -> Iterator[Night]:
    run = Night(tmp_path)
    with ControlServer(run_socket(tmp_path), run.handle):
        yield run


def test_rows_are_opened_and_closed_from_another_process(night: Night) -> None:
    done = night.ask("row", "start", "12 b", "--side", "left")
    assert (done.returncode, done.stdout) == (0, "row 12_b is open on the left\n")
    assert night.board.snapshot().rows[0].row == "12_b"
    done = night.ask("row", "start", "13")
    assert done.returncode == 3
    assert done.stderr == "edgekit: which side? (None) - use --side left or right\n"
    done = night.ask("row", "start", "../13", "--side", "left")
    assert (done.returncode, done.stderr.startswith("edgekit: '../13' is no name for a row")) == (10, True)
    assert night.ask("row", "stop", "--side", "left").stdout == "closed\n"
    assert night.board.snapshot().rows[0].row is None


def test_a_run_is_stopped_from_another_process(night: Night) -> None:
    assert night.ask("stop").stdout == "done\n"


def test_status_once_says_all_in_plain_words(night: Night) -> None:
    night.board.frame("cam-l")
    night.board.camera_fault("cam-r", "no such device\x1b[31m")
    night.board.row_opened("left", "12")
    night.board.row_counts("left", fruit=31, length_m=4.25)
    night.board.backlog(7, oldest_age_s=65)
    night.board.stage("infer", 0.25)
    night.board.device(DeviceStatus({"gpu-thermal": 51.5}, 8.1, "15W", 12 * 10**9, 64 * 10**9, 310.0))
    night.board.model(ModelStatus("fruit.onnx", "auto", "cpu", "no GPU here", 0.41, "autumn", "it fits"))
    night.board.gap(Gap("the power was cut", 300.0))
    done = night.ask("status")
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    for words in (
        "night 3, up for ", " s: FAULT", "cam-l left ok", "cam-r right lost", "left 12",
        "31 4.2 m", "right between rows",
        "31 fruit, 0 rows closed", "7 tiles wait, the oldest for ",
        "gpu-thermal 52 C, 8.1 W, mode 15W, 12.0 GB free",
        "model: fruit.onnx on cpu (no GPU here), counts from 0.41, season autumn", "season: it fits",
        "last start: the power was cut, 5 min without counting", "mean ms a pass: infer 250.0",
        "! the right camera cam-r gives no frames (no such device [31m)",
    ):  # fmt: skip
        assert words in text, words
    assert "\x1b" not in done.stdout
    assert json.loads(night.ask("status", "--json").stdout)["rows"][0]["fruit"] == 31


def test_nothing_runs_is_said_clearly(tmp_path: Path) -> None:
    for words in (["status"], ["status", "--json"], ["row", "stop"]):
        done = Night(tmp_path).ask(*words)
        assert (done.returncode, done.stdout) == (43, "")
        assert done.stderr.startswith(f"edgekit: nothing runs at {tmp_path}/control.sock")
        assert done.stderr.count("\n") == 1


def test_only_one_place_may_be_named(tmp_path: Path) -> None:
    done = Night(tmp_path).ask("status", "--socket", str(tmp_path / "x"))
    assert (done.returncode, "more than one run was named" in done.stderr) == (10, True)


def test_a_site_file_names_its_socket(night: Night, tmp_path: Path) -> None:
    site = tmp_path / "trolley.toml"
    site.write_text('out = "."\ncontrol = "control.sock"\n[[cameras]]\nname = "cam-l"\nfile = "left.toml"\n')
    command = [*EDGEKIT, "status", "--json", "--site", str(site)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert json.loads(done.stdout)["run"] == "night 3", done.stderr


def test_the_live_view_follows_the_run_on_a_terminal(night: Night) -> None:
    ours, theirs = pty.openpty()
    command = [*EDGEKIT, "status", "--every", "0.2", "--run", str(night.folder)]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm"}) as process:
        os.close(theirs)
        try:
            assert shown(ours, "between rows")
            night.board.row_opened("left", "77")
            assert shown(ours, "77")
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
        finally:
            process.kill()
    os.close(ours)


def shown(terminal: int, words: str, within_s: float = 30) -> bool:
    """True as soon as the terminal shows the words."""
    text, until_s = "", time.monotonic() + within_s
    while time.monotonic() < until_s:
        if select.select([terminal], [], [], 0.2)[0]:
            text += os.read(terminal, 65536).decode("utf-8", "replace")
            if words in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text):
                return True
    return False


def test_a_watch_without_a_terminal_is_a_line_now_and_then_and_ends_with_the_run(tmp_path: Path) -> None:
    run = Night(tmp_path)
    command = [*EDGEKIT, "status", "--watch", "--run", str(tmp_path)]
    code = "import edgekit.cli.status as s; s.LINE_EVERY_S = 0.2; "
    command[2] = code + command[2]
    with ControlServer(run_socket(tmp_path), run.handle):
        process = subprocess.Popen([*command, "--every", "0.2"], stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline().startswith("ok, left: between rows")
        assert process.stdout.readline().startswith("ok, left: between rows")
    rest, _ = process.communicate(timeout=30)
    assert rest.endswith("the run has ended\n")
    assert process.returncode == 0
