"""Questions to a run database."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from edgekit.contracts import Instances, ResultFlag, TileSpec
from edgekit.errors import RunDamagedError
from edgekit.store.count_rule import CountRule, season_from_json
from edgekit.store.database import open_reader, translated
from edgekit.store.mask_columns import from_columns
from edgekit.store.records import MergedFruit, RunPlan, Sitting, SourcePlan, StoredRun, StoredSource, StoredTile

Row = tuple[Any, ...]
"""A row of a query's answer; its types are those of `schema.sql`."""


class Event(NamedTuple):
    """Something that happened during a run."""

    kind: str
    message: str
    source_id: int | None


class RunReader:
    """Answers from the database; loads no more than what is asked for.

    Every method raises RunDamagedError where the database turns out to be damaged.

    Args:
        connection: an open run database.
        path: where it lies, for messages.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    @classmethod
    def open(cls, path: Path) -> RunReader:
        """Read the database at `path`; a run that is still going on may be read too.

        Raises:
            RunFolderError: there is no database, or it belongs to another program or version.
            RunDamagedError: the file is no SQLite database, or damaged.
        """
        return cls(open_reader(path), path)

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def run(self) -> StoredRun:
        """The run.

        Raises:
            RunDamagedError: the database holds none.
        """
        found = self.run_or_none()
        if found is None:
            raise RunDamagedError(f"{self._path} holds no run", mend="it was cut before it began: start it again")
        return found

    def run_or_none(self) -> StoredRun | None:
        """The run; None where none was written down yet."""
        rows = self._ask(
            "SELECT id, model, model_id, settings, threshold, threshold_from, season, edgekit, state FROM runs"
        )
        if not rows:
            return None
        run_id, model, model_id, settings, threshold, threshold_from, season, edgekit, state = rows[0]
        named = self._ask("SELECT path, kind, fingerprint FROM sources WHERE run_id = ? ORDER BY number", run_id)
        sources = tuple(SourcePlan(*row) for row in named)
        used = None if season is None else season_from_json(json.loads(season))
        plan = RunPlan(json.loads(model), model_id, json.loads(settings), threshold, threshold_from, sources, used)
        return StoredRun(run_id, plan, edgekit, state == "finished")

    def finished_at(self) -> str | None:
        """When the run was finished, by the wall clock (ISO 8601, UTC): a label; None where it is not."""
        rows = self._ask("SELECT finished_at FROM runs")
        return rows[0][0] if rows else None

    def identity(self) -> str:
        """A short name that this run alone has, from its beginning on, wherever its folder is copied to.

        Raises:
            RunDamagedError: the database holds none.
        """
        self.run()
        begun = self._ask("SELECT started_at, model_id FROM runs ORDER BY id LIMIT 1")
        prints = self._ask("SELECT path, fingerprint FROM sources WHERE kind <> 'live' ORDER BY number")
        boots = self._ask("SELECT boot_id FROM sittings ORDER BY id LIMIT 1") if self._has("sittings") else []
        return hashlib.sha256(json.dumps([begun, prints, boots]).encode()).hexdigest()[:16]

    def _has(self, table: str) -> bool:
        return bool(self._ask("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", table))

    def sources(self) -> list[StoredSource]:
        """The sources in their order on the command line."""
        return [_source(row) for row in self._ask(f"{_SELECT_SOURCE} ORDER BY number")]

    def source(self, source_id: int) -> StoredSource:
        """One source."""
        return _source(self._ask(f"{_SELECT_SOURCE} WHERE id = ?", source_id)[0])

    def tile_specs(self, source_id: int) -> list[TileSpec]:
        """Where the stored tiles of a source lie, in the order of cutting."""
        statement = "SELECT number, x_px, y_px, size_px FROM tiles WHERE source_id = ? ORDER BY number"
        return [TileSpec(*row) for row in self._ask(statement, source_id)]

    def tiles(self, source_id: int) -> Iterator[StoredTile]:
        """The stored tiles of a source with their detections, one after the other."""
        statement = (
            "SELECT t.number, t.x_px, t.y_px, t.size_px, t.candidates, t.flags, d.score, d.label, d.x0_px, d.y0_px,"
            " d.x1_px, d.y1_px, d.mask_x_px, d.mask_y_px, d.mask_width_px, d.mask_height_px, d.rle"
            " FROM tiles AS t LEFT JOIN detections AS d ON d.tile_id = t.id"
            " WHERE t.source_id = ? ORDER BY t.number, d.number"
        )
        with translated(self._path):
            rows = self._connection.execute(statement, (source_id,))
            for head, group in groupby(rows, key=lambda row: row[:6]):
                found = [row[6:] for row in group if row[6] is not None]
                yield StoredTile(TileSpec(*head[:4]), _instances(found), head[4], ResultFlag(head[5]))

    def fruit(self, source_id: int, *, threshold: float | CountRule = 0.0) -> MergedFruit:
        """The merged fruit of a source that count at a threshold or by a rule, left to right."""
        passes, values = self._passes(source_id, threshold)
        columns = "score, label, x0_px, y0_px, x1_px, y1_px, mask_x_px, mask_y_px, mask_width_px, mask_height_px, rle"
        rows = self._ask(
            f"SELECT {columns}, cut, pieces FROM fruit WHERE source_id = ? AND {passes} ORDER BY number",
            source_id,
            *values,
        )
        cut, pieces = tuple(bool(row[11]) for row in rows), tuple(row[12] for row in rows)
        return MergedFruit(_instances([row[:11] for row in rows]), cut, pieces)

    def count_fruit(self, source_id: int, threshold: float | CountRule) -> int:
        """Number of merged fruit of a source that count at a threshold or by a rule."""
        passes, values = self._passes(source_id, threshold)
        return self._number(f"SELECT count(*) FROM fruit WHERE source_id = ? AND {passes}", source_id, *values)

    def count_bridged(self, source_id: int, threshold: float | CountRule) -> int:
        """Of those, the fruit whose middle lies in a bridged stretch of the panorama."""
        passes, values = self._passes(source_id, threshold)
        inside = "(x0_px + x1_px) / 2 >= ? AND (x0_px + x1_px) / 2 < ?"
        statement = f"SELECT count(*) FROM fruit WHERE source_id = ? AND {passes} AND {inside}"
        stretches = self.source(source_id).bridged
        return sum(self._number(statement, source_id, *values, *stretch) for stretch in stretches)

    def count_by_label(self, source_id: int, threshold: float | CountRule) -> dict[int, int]:
        """The same number for each class index that occurs."""
        passes, values = self._passes(source_id, threshold)
        statement = f"SELECT label, count(*) FROM fruit WHERE source_id = ? AND {passes} GROUP BY label ORDER BY label"
        return dict(self._ask(statement, source_id, *values))

    def count_tiles(self, source_id: int | None = None) -> int:
        """Number of stored tiles, of one source or of all."""
        if source_id is None:
            return self._number("SELECT count(*) FROM tiles")
        return self._number("SELECT count(*) FROM tiles WHERE source_id = ?", source_id)

    def count_detections(self, source_id: int) -> int:
        """Number of stored detections of a source, before merging."""
        statement = "SELECT count(*) FROM detections JOIN tiles ON tiles.id = tile_id WHERE source_id = ?"
        return self._number(statement, source_id)

    def count_limited_tiles(self, source_id: int) -> tuple[int, int]:
        """Number of tiles in which a limit bit: (more objects than the model returns, a flag was set)."""
        cut = "SELECT count(*) FROM tiles WHERE source_id = ? AND candidates >"
        cut += " (SELECT count(*) FROM detections WHERE tile_id = tiles.id)"
        flagged = "SELECT count(*) FROM tiles WHERE source_id = ? AND flags <> 0"
        return self._number(cut, source_id), self._number(flagged, source_id)

    def events(self) -> list[Event]:
        """What happened, in order."""
        return [Event(*row) for row in self._ask("SELECT kind, message, source_id FROM events ORDER BY id")]

    def _passes(self, source_id: int, threshold: float | CountRule) -> tuple[str, tuple[float, ...]]:
        rule = threshold if isinstance(threshold, CountRule) else CountRule(threshold)
        return rule.condition(self.source(source_id).height_px)

    def last_sitting(self, run_id: int) -> Sitting | None:
        """The process that wrote a live run last; None where it was no live run."""
        statement = "SELECT boot_id, alive_s, alive_at, ended FROM sittings WHERE run_id = ? ORDER BY id DESC LIMIT 1"
        rows = self._ask(statement, run_id)
        return Sitting(rows[0][0], rows[0][1], rows[0][2], bool(rows[0][3])) if rows else None

    def _ask(self, statement: str, *values: object) -> list[Row]:
        with translated(self._path):
            rows: list[Row] = self._connection.execute(statement, values).fetchall()
        return rows

    def _number(self, statement: str, *values: object) -> int:
        value: int = self._ask(statement, *values)[0][0]
        return value


_SELECT_SOURCE = (
    "SELECT id, number, path, kind, state, frames, width_px, height_px, segments, row, side, opened_by, opened_at,"
    " pictures, px_per_metre, bridged FROM sources"
)


def _source(row: Row) -> StoredSource:
    bridged = tuple((start, stop) for start, stop in json.loads(row[15]))
    return replace(StoredSource(*row), pictures=bool(row[13]), bridged=bridged)


def _instances(rows: list[Row]) -> Instances:
    """Objects of rows of score, label, box and mask columns."""
    if not rows:
        return Instances.empty()
    return Instances(
        np.array([row[2:6] for row in rows], np.float32),
        np.array([row[0] for row in rows], np.float32),
        np.array([row[1] for row in rows], np.int32),
        tuple(from_columns(row[6:11]) for row in rows),
    )
