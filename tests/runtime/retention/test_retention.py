"""Which finished runs go, and how."""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from edgekit.errors import RunFolderError, SettingsError
from edgekit.runtime.retention.choose import GB, Removal, choose
from edgekit.runtime.retention.listing import RunOnDisk, look_at_run, runs_below
from edgekit.runtime.retention.remove import LOG_NAME, finish_removals, make_room, remove_run
from edgekit.runtime.retention.settings import RetentionSettings
from edgekit.store import RunFolder, RunPlan, RunRecorder
from edgekit.sync.files import read_entry, run_files
from edgekit.sync.state import SyncState, TargetState, write_state

NOW = datetime(2027, 6, 30, 12, tzinfo=timezone.utc)


def a_run(root: Path, number: int, *, days_ago: float = 0, synced: bool = True, finished: bool = True, kb: int = 100):
    """A run as `edgekit run` leaves it, with pictures of a size."""
    path = root / f"{number:06d}_2027-06-01"
    folder = RunFolder(path)
    segments = folder.segments(0)
    segments.mkdir(parents=True)
    (segments / "segment_00000.jpg").write_bytes(os.urandom(kb * 1024))
    recorder = RunRecorder(folder.database)
    run_id = recorder.begin(RunPlan({"class_names": ["fruit"]}, "id", {}, 0.5, "test", ()))
    if finished:
        recorder.finish(run_id)
    recorder.close()
    with sqlite3.connect(folder.database) as connection:
        ended = (NOW - timedelta(days=days_ago)).isoformat() if finished else None
        connection.execute("UPDATE runs SET finished_at = ?", (ended,))
    connection.close()
    if synced:
        entries = [read_entry(path, file, {}) for file in run_files(path)]
        there = TargetState(complete=True, files={entry.path: entry for entry in entries})
        write_state(path, SyncState({"s3://bucket/runs": there}))
    return path


def names(runs):
    return [run.path.name[:6].lstrip("0") for run in runs]


def chosen(root, **settings):
    return choose(runs_below(root), RetentionSettings(**settings), now=NOW)


def test_a_run_is_told_as_it_is(tmp_path):
    path = a_run(tmp_path, 1, days_ago=3)
    a_run(tmp_path, 2, finished=False)
    damaged = a_run(tmp_path, 3)
    RunFolder(damaged).database.write_bytes(b"no database" * 500)
    (tmp_path / "notes").mkdir()
    run, other, broken = runs_below(tmp_path)
    assert (run.path, run.state, run.targets) == (path, "finished", ("s3://bucket/runs",))
    assert run.age_days(NOW) == pytest.approx(3)
    assert run.pictures_bytes == pytest.approx(100 * 1024, rel=0.1)
    assert run.size_bytes > run.pictures_bytes
    assert (other.state, other.finished_at) == ("open", None)
    assert broken.state == "damaged"


def test_what_was_written_after_the_sync_keeps_a_run_and_its_pictures(tmp_path):
    path = a_run(tmp_path, 1, days_ago=90)
    for number in range(2, 5):
        a_run(tmp_path, number, synced=False)
    (path / "calibrated.json").write_text("{}")  # edgekit calibrate apply
    assert look_at_run(path).targets == ()
    assert chosen(tmp_path, keep_days=30).removals == ()
    assert make_room(tmp_path, GB) == 0
    assert RunFolder(path).panorama.exists()


def test_old_runs_go_by_days_the_newest_stay(tmp_path):
    for number, days in enumerate((90, 60, 31, 20, 5), 1):
        a_run(tmp_path, number, days_ago=days)
    assert names(item.run for item in chosen(tmp_path, keep_days=30).removals) == ["1", "2"]
    assert names(item.run for item in chosen(tmp_path, keep_days=30, least=1).removals) == ["1", "2", "3"]
    assert names(item.run for item in chosen(tmp_path, keep_days=0, least=1).removals) == ["1", "2", "3", "4"]


def test_what_lies_nowhere_else_stays_and_is_told(tmp_path):
    for number in range(1, 5):
        a_run(tmp_path, number, days_ago=90, synced=number != 2)
    choice = chosen(tmp_path, keep_days=30, least=1)
    assert names(item.run for item in choice.removals) == ["1", "3"]
    assert names(item.run for item in choice.held) == ["2"]
    assert "lies nowhere else" in choice.held[0].reason
    both = chosen(tmp_path, keep_days=30, least=1, unsynchronised="delete")
    assert names(item.run for item in both.removals) == ["1", "2", "3"]


def test_for_space_synchronised_runs_go_first(tmp_path):
    for number in range(1, 6):
        a_run(tmp_path, number, days_ago=1, synced=number in (3, 4), kb=1000)
    choice = chosen(tmp_path, keep_gb=3.5e-3, least=1, unsynchronised="delete")
    assert names(item.run for item in choice.removals) == ["3", "4"]
    more = chosen(tmp_path, keep_gb=1.2e-3, least=1, unsynchronised="delete")
    assert names(item.run for item in more.removals) == ["3", "4", "1", "2"]
    short = chosen(tmp_path, keep_gb=1.2e-3, least=1)
    assert names(item.run for item in short.removals) == ["3", "4"]
    assert short.missing_bytes > 1e6


def test_a_clock_that_was_set_back_makes_no_run_old(tmp_path):
    for number in range(1, 5):
        a_run(tmp_path, number, days_ago=-400)
    assert chosen(tmp_path, keep_days=1, least=1).removals == ()


@given(
    runs=st.lists(
        st.tuples(
            st.sampled_from(["finished", "open", "damaged"]),
            st.booleans(),
            st.integers(0, 100),
            st.one_of(st.none(), st.integers(-10, 400)),
        ),
        max_size=12,
    ),
    keep_days=st.one_of(st.none(), st.integers(0, 200)),
    keep_gb=st.one_of(st.none(), st.integers(0, 500)),
    free_gb=st.one_of(st.none(), st.integers(0, 500)),
    least=st.integers(1, 4),
    policy=st.sampled_from(["keep", "delete"]),
)
def test_what_must_stay_stays_and_the_limits_are_kept_where_they_can_be(
    runs, keep_days, keep_gb, free_gb, least, policy
):
    settings = RetentionSettings(keep_days, keep_gb, free_gb, least, policy)
    made = [
        RunOnDisk(
            Path(f"{number:06d}"),
            state,
            None if days is None or state != "finished" else NOW - timedelta(days=days),
            int(size * GB),
            0,
            ("t",) if synced else (),
        )
        for number, (state, synced, size, days) in enumerate(runs)
    ]
    free = int(50 * GB)
    choice = choose(made, settings, now=NOW, free_bytes=free)
    gone = [item.run for item in choice.removals]
    assert len(set(map(id, gone))) == len(gone)
    assert all(run.state == "finished" for run in gone)
    assert all(run.synchronised for run in gone) or policy == "delete"
    newest = [run for run in made if run.state == "finished"][-least:]
    assert not any(run in gone for run in newest)

    def missing(without):
        left = sum(run.size_bytes for run in made) - sum(run.size_bytes for run in without)
        over = 0 if keep_gb is None else left - keep_gb * GB
        short = 0 if free_gb is None else free_gb * GB - free - sum(run.size_bytes for run in without)
        return max(over, short, 0)

    assert choice.missing_bytes == missing(gone)
    may = [run for run in made if run.state == "finished" and run not in newest]
    may = [run for run in may if run.synchronised or policy == "delete"]
    if choice.missing_bytes:
        assert len(gone) == len(may)  # nothing is left that may go
    for_space = [item for item in choice.removals if "space" in item.reason]
    if for_space:  # the last one was still needed
        assert missing(gone[:-1]) > 0
    order = [run.synchronised for run in (item.run for item in for_space)]
    assert order == sorted(order, reverse=True)


@pytest.mark.parametrize(
    "changes", [{"keep_days": -1}, {"keep_gb": float("nan")}, {"free_gb": float("inf")}, {"least": 0}]
)
def test_settings_that_cannot_be_are_refused(changes):
    with pytest.raises(SettingsError, match="retention"):
        RetentionSettings(**changes)


class TestRemoving:
    def test_a_run_goes_whole_and_is_written_down_before(self, tmp_path):
        path = a_run(tmp_path, 1, days_ago=90)
        run = look_at_run(path)
        assert remove_run(Removal(run, "too old")) == run.size_bytes
        assert [item.name for item in tmp_path.iterdir()] == [LOG_NAME]
        line = json.loads((tmp_path / LOG_NAME).read_text())
        assert (line["run"], line["what"], line["reason"]) == (path.name, "run", "too old")
        assert line["lies_at"] == ["s3://bucket/runs"]

    @pytest.mark.parametrize("lock", [".lock", ".sync.lock"])
    def test_a_run_that_is_written_or_sent_is_left_alone(self, tmp_path, lock):
        path = a_run(tmp_path, 1)
        run = look_at_run(path)
        with (path / lock).open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            with pytest.raises(RunFolderError, match="in use"):
                remove_run(Removal(run, "too old"))
        assert RunFolder(path).database.exists()
        assert not (tmp_path / LOG_NAME).exists()

    def test_a_run_that_has_changed_since_is_left_alone(self, tmp_path):
        path = a_run(tmp_path, 1)
        run = look_at_run(path)
        write_state(path, SyncState())
        with pytest.raises(RunFolderError, match="changed"):
            remove_run(Removal(run, "too old"))

    def test_what_a_cut_left_of_a_removal_is_deleted_later_and_never_listed(self, tmp_path):
        path = a_run(tmp_path, 1)
        path.rename(tmp_path / f".leaving-{path.name}")
        assert runs_below(tmp_path) == []
        finish_removals(tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_pictures_that_another_run_shares_free_nothing(self, tmp_path):
        path = a_run(tmp_path, 1, kb=1000)
        assert look_at_run(path).pictures_bytes > 900 * 1024
        os.link(RunFolder(path).segments(0) / "segment_00000.jpg", tmp_path / "linked.jpg")
        assert look_at_run(path).pictures_bytes == 0
        assert look_at_run(path).size_bytes < 500 * 1024


class TestMakingRoom:
    def test_pictures_of_synchronised_runs_go_oldest_first_and_counts_stay(self, tmp_path):
        runs = [a_run(tmp_path, number, synced=number != 2, kb=500) for number in range(1, 5)]
        freed = make_room(tmp_path, 600 * 1024)
        assert freed >= 600 * 1024
        assert [RunFolder(run).panorama.exists() for run in runs] == [False, True, False, True]
        assert all(look_at_run(run).state == "finished" for run in runs)
        told = [json.loads(line) for line in (tmp_path / LOG_NAME).read_text().splitlines()]
        assert [line["what"] for line in told] == ["pictures", "pictures"]

    def test_open_runs_and_those_in_use_keep_theirs(self, tmp_path):
        a_run(tmp_path, 1, finished=False)
        used = a_run(tmp_path, 2)
        with (used / ".lock").open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            assert make_room(tmp_path, 1 << 30) == 0


class TestCommand:
    def invoke(self, *words):
        from edgekit.cli.main import app

        return CliRunner().invoke(app, ["runs", *map(str, words)])

    def test_nothing_is_deleted_without_being_told_to(self, tmp_path):
        for number in range(1, 4):
            a_run(tmp_path, number, days_ago=300 + 2000)
        shown = self.invoke("prune", tmp_path, "--keep-days", 30, "--least", 1)
        assert shown.exit_code == 0
        assert shown.stdout.count("goes") == 2
        assert "nothing was deleted" in shown.stdout
        assert len(runs_below(tmp_path)) == 3
        done = self.invoke("prune", tmp_path, "--keep-days", 30, "--least", 1, "--delete", "--json")
        assert len(json.loads(done.stdout)["removals"]) == 2
        assert names(runs_below(tmp_path)) == ["3"]

    def test_a_limit_is_asked_for(self, tmp_path):
        assert isinstance(self.invoke("prune", tmp_path).exception, SettingsError)

    def test_a_folder_that_is_not_there_is_told(self, tmp_path):
        for words in (("list", tmp_path / "none"), ("prune", tmp_path / "none", "--keep-days", 30)):
            done = self.invoke(*words)
            assert done.exit_code == 2
            assert "there is no folder" in done.stderr

    def test_the_site_file_has_the_limits(self, tmp_path):
        for number in range(1, 4):
            a_run(tmp_path / "runs", number, days_ago=2300, synced=number == 1)
        text = 'out = "runs"\n[retention]\nkeep_days = 30.0\nleast = 1\n[[cameras]]\nname = "left"\nfile = "usb.toml"\n'
        (tmp_path / "trolley.toml").write_text(text)
        done = self.invoke("prune", "--site", tmp_path / "trolley.toml", "--delete")
        assert done.exit_code == 0, done.output
        assert names(runs_below(tmp_path / "runs")) == ["2", "3"]
        assert "lies nowhere else" in done.stdout

    def test_list_tells_where_runs_lie(self, tmp_path):
        a_run(tmp_path, 1)
        a_run(tmp_path, 2, synced=False)
        told = self.invoke("list", tmp_path).stdout.splitlines()
        assert "at 1 target" in told[0]
        assert "only here" in told[1]
        assert json.loads(self.invoke("list", tmp_path, "--json").stdout)[0]["state"] == "finished"

    def test_list_finds_the_runs_of_a_site(self, tmp_path):
        a_run(tmp_path / "rides", 1)
        (tmp_path / "trolley.toml").write_text('out = "rides"\n[[cameras]]\nname = "left"\nfile = "usb.toml"\n')
        told = self.invoke("list", "--site", tmp_path / "trolley.toml").stdout.splitlines()
        assert told[-1].startswith("1 runs")
