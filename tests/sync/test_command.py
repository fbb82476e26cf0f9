"""`edgekit sync` as it is typed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from edgekit.cli.main import app
from tests.sync.places import make_run
from tests.sync.test_send import assert_arrived

runner = CliRunner()


def sync(*words):
    return runner.invoke(app, ["sync", *map(str, words)])


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "usb"
    folder.mkdir()
    return folder


def test_all_runs_but_those_that_go_on(tmp_path, place):
    runs = tmp_path / "runs"
    make_run(runs / "monday")
    make_run(runs / "tuesday")
    make_run(runs / "tonight", finished=False)
    first = sync("--all", "--runs", runs, place)
    assert first.exit_code == 0, first.output
    assert "tonight: left, it is not finished" in first.output
    assert "nothing was sent" not in first.output
    assert sorted(item.name for item in place.iterdir()) == ["monday", "tuesday"]
    again = json.loads(sync("--all", "--runs", runs, place, "--json").stdout)
    assert [(item["run"], item["sent"], item["complete"]) for item in again["runs"]] == [
        ("monday", 0, True), ("tuesday", 0, True),
    ]  # fmt: skip


def test_progress_in_a_log_is_told_once(tmp_path, place):
    make_run(tmp_path / "runs" / "monday")
    lines = sync(tmp_path / "runs" / "monday", place).stderr.splitlines()
    assert any("MiB" in line for line in lines), lines
    assert len(lines) == len(set(lines))


def test_a_target_that_is_not_there_is_told_though_nothing_is_to_be_sent(tmp_path):
    make_run(tmp_path / "runs" / "tonight", finished=False)
    done = sync("--all", "--runs", tmp_path / "runs", tmp_path / "usb")
    assert (done.exit_code, done.stderr.count("\n")) == (46, 1), done.stderr
    assert "mount the drive" in done.stderr
    assert done.stderr.count(str(tmp_path / "usb")) == 1


def test_how_to_finish_is_said_where_nothing_could_be_sent(tmp_path, place):
    make_run(tmp_path / "runs" / "tonight", finished=False)
    done = sync("--all", "--runs", tmp_path / "runs", place)
    assert done.exit_code == 0
    assert "nothing was sent: `edgekit stop --finish`" in done.stdout


def test_a_wrong_broker_is_told_once_and_a_folder_without_runs_too(tmp_path, place, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "no folder runs" in sync("--all", place).stderr
    make_run(tmp_path / "runs" / "monday")
    done = sync("--all", "--mqtt", "http://office")
    assert str(done.exception).count("names no broker") == 1
    site = tmp_path / "trolley.toml"
    site.write_text(f'out = "later"\n[sync]\ntarget = "{place}"\n')
    assert "there are no runs yet" in sync("--all", "--site", site).stdout


def test_a_run_that_fails_does_not_keep_the_others(tmp_path, place):
    runs = tmp_path / "runs"
    make_run(runs / "monday")
    make_run(runs / "tuesday")
    (runs / "monday" / "run.sqlite").write_bytes(b"no database at all" * 100)
    done = sync("--all", "--runs", runs, place)
    assert done.exit_code == 42
    assert "monday" in done.stderr
    assert_arrived(runs / "tuesday", place / "tuesday")


def test_a_site_file_names_target_and_broker(tmp_path, place, broker):
    make_run(tmp_path / "runs" / "monday", rows=(3, 4))
    site = tmp_path / "trolley.toml"
    site.write_text(f'out = "runs"\n[sync]\ntarget = "{place}"\n[sync.mqtt]\nurl = "{broker.url}"\n')
    done = json.loads(sync("--all", "--site", site, "--json").stdout)
    assert done["mqtt"][0]["acknowledged"] == 2
    assert_arrived(tmp_path / "runs" / "monday", place / "monday")


def test_counts_alone(run, broker):
    done = sync(run, "--mqtt", f"{broker.url}/house/rows")
    assert done.exit_code == 0, done.output
    assert "1 counts acknowledged, 0 wait" in done.output


@pytest.mark.parametrize("words", [[], ["nowhere", "there"], ["--all"], ["/tmp"]])
def test_a_wrong_command_line_is_told(words):
    assert sync(*words).exit_code == 2


def test_an_unknown_key_of_the_site_file_is_told(tmp_path, run):
    site = tmp_path / "trolley.toml"
    site.write_text('[sync]\ntargte = "x"\n')
    with pytest.raises(Exception, match="target"):
        runner.invoke(app, ["sync", str(run), "--site", str(site)], catch_exceptions=False)


def test_syncs_that_are_killed_end_with_the_same_digests(tmp_path, place):
    """Few kills on a small run; bench/sync/interrupt.py does it at length, at an S3 server too."""
    run = make_run(tmp_path / "runs" / "night", segments=150, segment_bytes=400_000)
    command = [sys.executable, "-m", "edgekit", "sync", str(run), str(place), "--quiet"]
    met = 0
    for number in range(6):
        before = sum(1 for _ in place.rglob("*"))
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 20
        while sum(1 for _ in place.rglob("*")) < before + 3 + 4 * number and process.poll() is None:
            assert time.monotonic() < end
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        met += process.wait() == -signal.SIGKILL
    assert met >= 3
    subprocess.run(command, check=True)
    assert_arrived(run, place / "night")
