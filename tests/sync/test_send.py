"""A run to a target: what arrives, what is sent again, what is refused."""

from __future__ import annotations

import hashlib
import json
import os
import random
import sqlite3

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgekit.errors import RunFolderError, SettingsError, SyncError
from edgekit.sync import RetrySettings, SendSettings, Target, send_run, targets_with_all
from edgekit.sync.files import run_files
from tests.sync.places import make_run, silent

AT_ONCE = SendSettings(retry=RetrySettings(attempts=4, first_wait_s=0))


def digests(folder):
    """Path -> SHA-256 of every file below a folder, hidden ones too."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def wanted(run):
    return {path.relative_to(run).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in run_files(run)}


def assert_arrived(run, copy):
    """The copy holds the run's files with the same digests, a manifest that says so, and nothing else."""
    there = digests(copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    del there["manifest.json"]
    assert there == wanted(run)
    assert manifest["complete"]
    assert {item["path"]: item["sha256"] for item in manifest["files"]} == there


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "usb"
    folder.mkdir()
    return folder


def send(run, place, how=AT_ONCE, **options):
    return send_run(run, Target(str(place), options), how, report=silent)


def test_a_run_arrives_whole_and_a_second_sync_sends_nothing(run, place):
    first = send(run, place)
    assert first.complete
    assert first.sent == first.files == len(wanted(run))
    assert_arrived(run, place / "row12")
    times = {path: path.stat().st_mtime_ns for path in (place / "row12").rglob("*")}
    second = send(run, place)
    assert (second.sent, second.files) == (0, first.files)
    assert times == {path: path.stat().st_mtime_ns for path in (place / "row12").rglob("*")}


def test_what_is_not_the_runs_is_left_out(run, place):
    for name in (".lock", ".x.ab12.partial.json", "run.sqlite-shm"):
        (run / name).write_text("")
    (run / "link").symlink_to("/etc/hostname")
    send(run, place)
    assert_arrived(run, place / "row12")
    assert not (place / "row12" / "link").exists()


def test_a_record_that_was_lost_costs_no_second_copy(run, place):
    send(run, place)
    (run / "sync.json").write_text('{"schema": 1, "tar')
    again = send(run, place)
    assert again.sent == 0
    assert again.complete
    assert targets_with_all(run)


def test_a_target_that_was_emptied_gets_everything_again(run, place):
    import shutil

    send(run, place)
    shutil.rmtree(place / "row12")
    assert send(run, place).sent == len(wanted(run))
    assert_arrived(run, place / "row12")


def test_a_changed_file_is_sent_again_alone(run, place):
    send(run, place)
    (run / "summary.json").write_text('{"fruit": 3}')
    assert send(run, place).sent == 1
    assert_arrived(run, place / "row12")


def test_verify_finds_a_copy_that_rotted(run, place):
    send(run, place)
    rotten = place / "row12" / "panorama" / "row_000" / "000001.jpg"
    content = bytearray(rotten.read_bytes())
    content[100] ^= 1
    rotten.write_bytes(content)
    assert send(run, place).sent == 0
    assert send(run, place, SendSettings(verify=True)).sent == 1
    assert_arrived(run, place / "row12")


def test_files_that_were_deleted_here_stay_in_the_manifest_and_at_the_target(run, place):
    first = send(run, place)
    before = digests(place / "row12")
    (run / "panorama" / "row_000" / "000002.jpg").unlink()
    again = send(run, place)
    assert (again.sent, again.files) == (0, first.files)
    assert digests(place / "row12") == before
    assert targets_with_all(run)


def test_a_run_is_elsewhere_only_with_every_file_as_it_is_now(run, place):
    assert not targets_with_all(run)
    send(run, place)
    assert len(targets_with_all(run)) == 1
    (run / "summary.json").write_text("changed")
    assert not targets_with_all(run)
    send(run, place)
    assert targets_with_all(run)
    (run / "calibrated.json").write_text("written later")
    assert not targets_with_all(run)


def test_what_waits_in_the_databases_journal_arrives_too(run, place):
    log = run / "run.sqlite-wal"
    connection = sqlite3.connect(run / "run.sqlite")
    connection.execute("INSERT INTO events (run_id, at, kind, message) VALUES (1, '', 'remark', 'last words')")
    connection.commit()
    kept = log.read_bytes()
    whole = (run / "run.sqlite").read_bytes()
    connection.close()
    (run / "run.sqlite").write_bytes(whole)  # as after a power cut: nobody folded the journal in
    log.write_bytes(kept)
    send(run, place)
    with sqlite3.connect(place / "row12" / "run.sqlite") as copy:
        assert copy.execute("SELECT message FROM events WHERE kind = 'remark'").fetchall() == [("last words",)]


def test_an_unfinished_run_is_refused_or_sent_as_far_as_it_is_finished(tmp_path, place):
    run = make_run(tmp_path / "runs" / "tonight", rows=(3, None), finished=False)
    with pytest.raises(RunFolderError, match="not finished"):
        send(run, place)
    part = send(run, place, SendSettings(unfinished=True))
    assert not part.complete
    assert not targets_with_all(run)
    there = digests(place / "tonight")
    assert set(there) == {"manifest.json", *(f"panorama/row_000/{i:06d}.jpg" for i in range(4))}
    assert not json.loads((place / "tonight" / "manifest.json").read_text())["complete"]


def test_two_runs_of_one_name_are_never_mixed(tmp_path, run, place):
    other = make_run(tmp_path / "other" / "row12", seed=1)
    send(run, place)
    before = digests(place)
    with pytest.raises(SyncError, match="another run named row12"):
        send(other, place)
    assert digests(place) == before


@pytest.mark.parametrize("where", ["..", ".", "panorama"])
def test_a_target_among_the_runs_is_refused(run, where):
    with pytest.raises(SyncError, match="holds the run itself"):
        send(run, run / where)


def test_a_drive_that_is_not_mounted_is_told(run, tmp_path):
    with pytest.raises(SyncError, match="mount the drive"):
        send(run, tmp_path / "media" / "usb")
    assert not (tmp_path / "media").exists()


@pytest.mark.parametrize("url", ["", "s3://", "s3:///trolley1", "sftp://", "ftp://", "memory://"])
def test_a_target_that_names_no_place_is_refused(url):
    with pytest.raises(SettingsError, match=r"no host or bucket|empty|keeps nothing"):
        Target(url)


def test_an_unknown_kind_of_target_is_told_without_its_password():
    with pytest.raises(SettingsError, match="no such kind") as told:
        Target("sfpt://user:secret@host/x")
    assert "secret" not in str(told.value)


def test_a_second_sync_of_the_same_run_is_refused_while_one_is_at_work(run, place):
    import fcntl

    handle = os.open(run / ".sync.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(RunFolderError, match="another process"):
        send(run, place)
    os.close(handle)
    assert send(run, place).complete


class FlakyFileSystem(LocalFileSystem):
    """Fails at random, before or after a step was done, as networks do; now and then it turns a bit."""

    protocol = "flaky"
    cachable = False

    def __init__(self, chance, share, **options):
        super().__init__(**options)
        self._chance, self._share = chance, share

    @classmethod
    def _strip_protocol(cls, path):
        return LocalFileSystem._strip_protocol(path.removeprefix("flaky://"))

    def _maybe(self):
        if self._chance.random() < self._share:
            raise ConnectionResetError("the network is gone")

    def _open(self, path, mode="rb", **options):
        self._maybe()
        handle = super()._open(path, mode, **options)
        if "b" in mode and "r" not in mode:
            write = handle.write

            def flaky(data):
                if self._chance.random() < self._share:
                    write(data[: len(data) // 2])
                    handle.flush()
                    raise ConnectionResetError("the network is gone")
                if self._chance.random() < self._share / 4:
                    data = bytes([data[0] ^ 1]) + data[1:]
                return write(data)

            return Handle(handle, flaky)
        return handle

    def mv(self, *places, **options):
        self._maybe()
        super().mv(*places, **options)
        self._maybe()

    def info(self, path, **options):
        self._maybe()
        return super().info(path, **options)


class Handle:
    """A file whose writing fails."""

    def __init__(self, handle, write):
        self._handle, self.write = handle, write

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._handle.close()

    def __getattr__(self, name):
        return getattr(self._handle, name)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(seed=st.integers(0, 2**32), share=st.sampled_from([0.02, 0.1, 0.25]))
def test_a_network_that_fails_anywhere_ends_with_the_same_digests(tmp_path_factory, seed, share):
    fsspec.register_implementation("flaky", FlakyFileSystem, clobber=True)
    folder = tmp_path_factory.mktemp("flaky")
    run = make_run(folder / "runs" / "row12", segments=3, segment_bytes=3000)
    place = folder / "place"
    place.mkdir()
    chance = random.Random(seed)
    told = None
    for _ in range(200):
        try:
            done = send(run, f"flaky://{place}", AT_ONCE, chance=chance, share=share)
            break
        except SyncError as error:
            told = error
    else:
        raise AssertionError(told)
    assert done.complete
    assert_arrived(run, place / "row12")


def test_a_full_target_is_told_at_once(run, place, monkeypatch):
    tries = []

    def full(self, lpath, *args, **options):
        tries.append(lpath)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(LocalFileSystem, "_open", full)
    with pytest.raises(SyncError, match=r"No space left.*make room"):
        send(run, place)
    assert len(tries) == 1
