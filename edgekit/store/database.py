"""The run database: opening, its schema, and SQLite's errors in words that a person can act on."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from edgekit.errors import EdgekitError, RunDamagedError, RunFolderError, StorageError

SCHEMA_VERSION = 3
"""`PRAGMA user_version` of the databases that this edgekit writes and reads."""

APPLICATION_ID = 0x45444B54
"""`PRAGMA application_id`: "EDKT"."""

BUSY_TIMEOUT_S = 5.0
"""How long a connection waits for another one's lock before it gives up with an error."""


def open_writer(path: Path) -> sqlite3.Connection:
    """The one connection that writes; makes the database and its tables where there are none.

    WAL, so that `edgekit count` and others can read while a run writes. `synchronous=FULL`: a committed tile outlives a
    power cut, not only a kill (NORMAL would keep the file whole but could lose the last commits). That costs an fsync a
    commit, so commits are gathered (see `recorder.COMMIT_EVERY_S`).

    Raises:
        RunDamagedError: the file is no SQLite database, or damaged.
        RunFolderError: it belongs to another program or to another version of edgekit.
        StorageError: the disk is full, read-only or failing.
    """
    with translated(path):
        connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            if _is_empty(connection):
                _create(connection)
            check_version(connection, path)
            check_integrity(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """A connection that only reads; several may be open while a run writes.

    SQLite makes two files (-wal, -shm) beside the database even to read it. The last connection that may write takes
    them away when it is closed; so this one may, and is told to change nothing. What a killed run left in its WAL is
    for the next writer, and is only read.

    Raises:
        RunFolderError: there is no database, or it belongs to another program or version.
        RunDamagedError: the file is no SQLite database, or damaged.
    """
    if not path.is_file():
        raise RunFolderError(f"{path.parent} holds no run ({path.name} is missing)", mend="name the folder of a run")
    with translated(path):
        try:
            return _connect_reader(path, "mode=ro" if _is_outstanding(path) else "mode=rw")
        except sqlite3.OperationalError as error:
            # A read-only medium forbids files beside the database. Without a WAL nothing is outstanding, so that the
            # database may be read as it lies.
            if "unable to open" not in str(error) or _is_outstanding(path):
                raise
            return _connect_reader(path, "mode=ro&immutable=1")


def _is_outstanding(path: Path) -> bool:
    """Whether the WAL holds something: a run writes, or was killed."""
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size > 0
    except FileNotFoundError:
        return False


def _connect_reader(path: Path, options: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?{options}", timeout=BUSY_TIMEOUT_S, uri=True)
    try:
        connection.execute("PRAGMA query_only = ON")
        check_version(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def has_begun(path: Path) -> bool:
    """False where there is no database yet, or one that was cut before its tables were made.

    Raises:
        RunDamagedError: the file is no SQLite database, or damaged.
    """
    if not path.is_file() or not path.stat().st_size:
        return False
    with translated(path):
        connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S)
        try:
            return not _is_empty(connection)
        finally:
            connection.close()


def check_version(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a database that another program or another version of edgekit wrote.

    Raises:
        RunFolderError: it is not ours, or of a schema that this edgekit does not know.
    """
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise RunFolderError(f"{path} is not a run of edgekit", mend="choose another folder")
    version = _pragma(connection, "user_version")
    if version != SCHEMA_VERSION:
        known = f"this edgekit reads version {SCHEMA_VERSION}"
        raise RunFolderError(f"{path} has schema version {version}, {known}", mend="use the edgekit that wrote it")


def check_integrity(connection: sqlite3.Connection, path: Path) -> None:
    """Ask SQLite whether the file is whole.

    Raises:
        RunDamagedError: it is not; the first complaint is told.
    """
    complaint = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if complaint != "ok":
        raise RunDamagedError(f"{path} is damaged: {complaint}", mend=_MEND_DAMAGED)


@contextmanager
def savepoint(connection: sqlite3.Connection) -> Iterator[None]:
    """All of the block's changes or none of them, within a transaction that goes on."""
    connection.execute("SAVEPOINT part")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK TO part")
        raise
    connection.execute("RELEASE part")


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors that are the disk's or the file's fault into ours; a wrong statement stays what it is.

    Python 3.10 does not tell SQLite's error codes, so the texts of `sqlite3_errstr` are what there is to go by.
    """
    try:
        yield
    except sqlite3.DatabaseError as error:
        text = str(error)
        for fragment, kind, what, mend in _TRANSLATIONS:
            if fragment in text:
                raise kind(f"{what.format(path=path)} ({text})", mend=mend) from error
        raise


_MEND_DAMAGED = "move it away and start the run again; the panorama segments beside it are not touched"
_MEND_FULL = "free some space and start again: what was finished is kept"
_TRANSLATIONS: tuple[tuple[str, type[EdgekitError], str, str], ...] = (
    ("is full", StorageError, "cannot write {path}: the disk is full", _MEND_FULL),
    ("readonly", StorageError, "cannot write {path}: it is read-only", "choose another folder, or allow writing"),
    ("disk I/O error", StorageError, "cannot write {path}: the disk is full or failing", _MEND_FULL),
    ("unable to open", StorageError, "cannot open {path}: no access", "choose a folder that this user may write to"),
    ("is locked", RunFolderError, "{path} is in use by another program", "close it there and start again"),
    ("not a database", RunDamagedError, "{path} is no SQLite database", _MEND_DAMAGED),
    ("malformed", RunDamagedError, "{path} is damaged", _MEND_DAMAGED),
)


def _is_empty(connection: sqlite3.Connection) -> bool:
    """True for a new file, and for one whose tables were never committed."""
    nothing: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return nothing == 0 and _pragma(connection, "user_version") == 0


def _create(connection: sqlite3.Connection) -> None:
    statements = files("edgekit.store").joinpath("schema.sql").read_text("utf-8")
    try:
        # One transaction: a process that is killed here leaves an empty database, which the next one fills.
        connection.executescript(
            f"BEGIN IMMEDIATE; {statements}; PRAGMA application_id = {APPLICATION_ID};"
            f" PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
        )
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value
