"""The outbox: messages on the disk until the broker has them."""

from __future__ import annotations

import json
import sqlite3
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from edgekit.errors import SyncError
from edgekit.store.database import BUSY_TIMEOUT_S, translated
from edgekit.sync.counts import RowMessage

OUTBOX_NAME = "outbox.sqlite"
SCHEMA_VERSION = 1


class Waiting(NamedTuple):
    """A message that the broker has not acknowledged."""

    id: str
    topic: str
    payload: bytes


class Outbox:
    """Messages to one broker; durable when a method returns.

    Args:
        path: the database; made where it is missing.
        broker: URL of the broker.

    Raises:
        StorageError: the disk is full, read-only or failing.
        RunDamagedError: the file is damaged.
        SyncError: another version of edgekit wrote it.
    """

    def __init__(self, path: Path, broker: str) -> None:
        self._path, self._broker = path, broker
        with translated(path):
            self._connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = FULL")
                self._make_tables()
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def put(self, message: RowMessage) -> bool:
        """Keep a count to be sent, unless the same was kept before; tell whether it is new.

        A count that changed becomes the next revision; an older one that still waits is not sent any more.
        """
        content = json.dumps([message.topic, message.content], sort_keys=True)
        newest = "SELECT revision, content FROM messages WHERE broker = ? AND run_id = ? AND row = ?"
        newest += " ORDER BY revision DESC LIMIT 1"
        place = (self._broker, message.run_id, message.row)
        with translated(self._path), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            revision, known = self._connection.execute(newest, place).fetchone() or (0, None)
            if known == content:
                return False
            replace = "UPDATE messages SET state = 'replaced'"
            replace += " WHERE broker = ? AND run_id = ? AND row = ? AND state = 'waiting'"
            self._connection.execute(replace, place)
            insert = "INSERT INTO messages (broker, run_id, row, id, revision, topic, content, payload)"
            insert += " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            number = revision + 1
            values = (message.message_id(number), number, message.topic, content, message.payload(number))
            self._connection.execute(insert, (*place, *values))
        return True

    def waiting(self) -> list[Waiting]:
        """What the broker has not acknowledged, the oldest first."""
        statement = "SELECT id, topic, payload FROM messages WHERE broker = ? AND state = 'waiting' ORDER BY rowid"
        with translated(self._path):
            return [Waiting(*row) for row in self._connection.execute(statement, (self._broker,))]

    def acknowledge(self, message_id: str) -> None:
        """The broker has it."""
        statement = "UPDATE messages SET state = 'acknowledged' WHERE broker = ? AND id = ?"
        with translated(self._path):
            self._connection.execute(statement, (self._broker, message_id))

    def _make_tables(self) -> None:
        if self._version() == 0:
            statements = files("edgekit.sync").joinpath("outbox.sql").read_text("utf-8")
            try:
                # Another process may be making them at this moment: the lock is taken before the version is believed.
                self._connection.execute("BEGIN IMMEDIATE")
                if self._version() == 0:
                    for statement in statements.split(";\n"):
                        self._connection.execute(statement)
                    self._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
        if self._version() != SCHEMA_VERSION:
            what = f"{self._path} has schema version {self._version()}, this edgekit writes version {SCHEMA_VERSION}"
            raise SyncError(what, mend="use the edgekit that wrote it, or move it away: all counts are sent again")

    def _version(self) -> int:
        version: int = self._connection.execute("PRAGMA user_version").fetchone()[0]
        return version
