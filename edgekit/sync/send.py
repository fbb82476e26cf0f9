"""A run to a target: store and forward, so that it may be cut at any moment and goes on where it ended."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from edgekit.atomic import storage_error
from edgekit.contracts import Progress
from edgekit.errors import RunFolderError, SyncError
from edgekit.store import RunFolder, RunReader
from edgekit.store.database import translated
from edgekit.sync.files import LOCK_NAME, FileEntry, finished_files, read_entry, run_files
from edgekit.sync.manifest import MANIFEST_NAME, Manifest, manifest_of, parse_manifest
from edgekit.sync.patience import patiently
from edgekit.sync.settings import RetrySettings
from edgekit.sync.state import SyncState, TargetState, read_state, write_state
from edgekit.sync.target import Target

STATE_EVERY_S = 1.0
"""Between two writings of `sync.json`: what is lost with it is only looked up at the target again."""
_MIB = 1 << 20
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class SendSettings:
    """How a run is sent."""

    unfinished: bool = False
    """Whether a run that still goes on may be sent as far as its panorama segments are finished."""
    verify: bool = False
    """Whether files that were verified before are compared again."""
    retry: RetrySettings = field(default_factory=RetrySettings)
    """Patience with a network that fails."""


@dataclass(frozen=True)
class Sent:
    """What a sync did."""

    run: str
    target: str
    files: int
    """Files of the run that lie at the target, verified."""
    sent: int
    """Of these, sent now."""
    sent_bytes: int
    complete: bool
    """True where the run is finished and all of it is there."""
    seconds: float


def send_run(run: Path, target: Target, settings: SendSettings, *, report: Progress) -> Sent:
    """Copy a run to `TARGET/<name of its folder>/`.

    Each file gets its name there after its digest was compared; the manifest comes last. Calling it again sends what is
    missing, and nothing where nothing is.

    Args:
        run: folder of the run.
        target: where to.
        settings: how.
        report: is told mebibytes.

    Raises:
        RunFolderError: no run, one that is not finished, or another process sends it already.
        SyncError: the target cannot be reached, refuses, or holds another run of this name.
        StorageError: the run cannot be read, or the record not be written.
    """
    start_s = time.monotonic()
    _check_places(run, target)
    with _only_sender(run):
        identity, finished = _identify(run, settings)
        state = read_state(run)
        job = _Job(run, target, settings, state, state.of(target.name))
        patiently(target.check_place, settings.retry, what=target.name, again=target.reconnect)
        there = job.claim(identity, finished)
        entries = _entries(run, state, finished, report)
        try:
            sent = job.send_all(entries, report)
        finally:
            write_state(run, state)
        manifest = manifest_of(run.resolve().name, identity, job.there.files.values(), complete=finished)
        job.close(manifest, there)
    return Sent(
        run.resolve().name, target.name, len(job.there.files), len(sent), sum(item.size_bytes for item in sent),
        finished, time.monotonic() - start_s,
    )  # fmt: skip


class _Job:
    """One sync of one run."""

    def __init__(self, run: Path, target: Target, settings: SendSettings, state: SyncState, there: TargetState) -> None:
        self._run, self._target, self._settings, self._state, self.there = run, target, settings, state, there
        self._name = run.resolve().name
        self._written_s = time.monotonic()

    def claim(self, identity: str, finished: bool) -> Manifest | None:
        """Take the run's name at the target; the manifest that is there already, if any.

        Raises:
            SyncError: another run has the name.
        """
        place = f"{self._name}/{MANIFEST_NAME}"
        content = self._patiently(lambda: self._target.read(place), MANIFEST_NAME)
        if content is not None:
            there = parse_manifest(content, f"{self._target.name}/{place}")
            if there.identity != identity:
                mend = "give each device a target folder of its own, or rename the run's folder"
                raise SyncError(f"{self._target.name} holds another run named {self._name}", mend=mend)
            return there
        self.there.files.clear()  # whatever the record says, the target was emptied since
        self.there.complete = False
        write_state(self._run, self._state)  # at once: pictures are deleted by this record
        first = manifest_of(self._name, identity, (), complete=False)
        self._patiently(lambda: self._target.write(place, first.to_json()), MANIFEST_NAME)
        return first

    def send_all(self, entries: list[FileEntry], report: Progress) -> list[FileEntry]:
        """Bring every file to the target; those that were sent now."""
        total, done, sent = sum(item.size_bytes for item in entries), 0, []
        for entry in entries:
            if not self._is_there(entry):
                self._send(entry, done, total, report)
                sent.append(entry)
            done += entry.size_bytes
            self._note(entry)
            report(self._stage, _mib(done), _mib(total))
        return sent

    def close(self, manifest: Manifest, there: Manifest | None) -> None:
        """The manifest last, and the record."""
        place = f"{self._name}/{MANIFEST_NAME}"
        if manifest != there:
            self._patiently(lambda: self._target.write(place, manifest.to_json()), MANIFEST_NAME)
        self._patiently(lambda: self._target.tidy(place), MANIFEST_NAME)
        self.there.complete = manifest.complete
        write_state(self._run, self._state)

    @property
    def _stage(self) -> str:
        return f"{self._name}, MiB"

    def _is_there(self, entry: FileEntry) -> bool:
        known = self.there.files.get(entry.path)
        if known is not None and known.sha256 == entry.sha256 and not self._settings.verify:
            return True
        place = f"{self._name}/{entry.path}"
        if not self._patiently(lambda: self._target.holds(place, entry), entry.path):
            return False
        self._patiently(lambda: self._target.tidy(place), entry.path)
        return True

    def _send(self, entry: FileEntry, done: int, total: int, report: Progress) -> None:
        def attempt() -> None:
            gone = done

            def seen(count: int) -> None:
                nonlocal gone
                gone += count
                report(self._stage, _mib(gone), _mib(total))

            self._target.send(self._run / entry.path, f"{self._name}/{entry.path}", entry, seen)

        self._patiently(attempt, entry.path)

    def _note(self, entry: FileEntry) -> None:
        self.there.files[entry.path] = entry
        if time.monotonic() - self._written_s >= STATE_EVERY_S:
            write_state(self._run, self._state)
            self._written_s = time.monotonic()

    def _patiently(self, step: Callable[[], Answer], path: str) -> Answer:
        what = f"{self._target.name}/{self._name}/{path}"
        return patiently(step, self._settings.retry, what=what, again=self._target.reconnect)


def _entries(run: Path, state: SyncState, finished: bool, report: Progress) -> list[FileEntry]:
    """The files to send with their digests; what was read before and did not change is not read again."""
    paths = list(run_files(run) if finished else finished_files(run))
    known, entries = state.known(), []
    for number, path in enumerate(paths, start=1):
        entries.append(read_entry(run, path, known))
        report("digests", number, len(paths))
    return entries


def _identify(run: Path, settings: SendSettings) -> tuple[str, bool]:
    """Which run it is, and whether it is finished; a finished one's database is made one file."""
    database = RunFolder(run).database
    with closing(RunReader.open(database)) as reader:
        identity, finished = reader.identity(), reader.run().finished
    if not finished and not settings.unfinished:
        mend = "finish it, or send what is finished of it with --unfinished"
        raise RunFolderError(f"{run} is not finished", mend=mend)
    if finished:
        _fold_journal(database)
    return identity, finished


def _fold_journal(database: Path) -> None:
    """Take the write-ahead log into the database, so that the one file holds everything."""
    log = database.with_name(f"{database.name}-wal")
    if not log.exists() or not log.stat().st_size:
        return
    with translated(database), closing(sqlite3.connect(database)) as connection:
        busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    if busy:
        raise RunFolderError(f"{database} is in use by another program", mend="close it there and sync again")


def _check_places(run: Path, target: Target) -> None:
    if not run.is_dir():
        raise RunFolderError(f"{run} is no folder", mend="name the folder of a run")
    own, folder = run.resolve(), target.folder
    if folder is not None and (folder == own or own in folder.parents or folder == own.parent):
        raise SyncError(f"{folder} holds the run itself", mend="choose a target outside the folder of the runs")


@contextmanager
def _only_sender(run: Path) -> Iterator[None]:
    """Hold the run against a second sync of it, as a timer may start one."""
    try:
        handle = os.open(run / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise storage_error(run / LOCK_NAME, error) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunFolderError(f"another process is sending {run}", mend="wait for it") from error
        yield
    finally:
        os.close(handle)


def _mib(size_bytes: int) -> int:
    return -(-size_bytes // _MIB)
