"""The one writer of a run database."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from edgekit import __version__
from edgekit.contracts import Instances, TileResult, TileSpec
from edgekit.errors import RunFolderError
from edgekit.store.count_rule import season_as_json
from edgekit.store.database import open_writer, savepoint, translated
from edgekit.store.mask_columns import to_columns
from edgekit.store.reader import RunReader
from edgekit.store.records import LiveRowPlan, MergedFruit, PanoramaShape, RunPlan, Sitting

COMMIT_EVERY_S = 0.5
"""Longest time that finished tiles wait for their commit, and so the most work that a kill or a power cut can cost.

A commit is one fsync. A tile costs 10 ms with a commit of its own and 1.8 ms with one for twelve tiles, which is what
half a second gathers. With synchronous=NORMAL, which could lose commits in a power cut, it is 1.2 ms
(python bench/crash/commit_cost.py --folder DISK).
"""


class RunRecorder:
    """Writes a run. Batches of tiles are gathered and committed together; whatever is counted was committed before.

    Every method raises StorageError where the disk is full, read-only or failing; what was committed stays.

    Args:
        path: the database; made where it is missing.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = open_writer(path)
        self._opened_s = 0.0
        self.reader = RunReader(self._connection, path)

    def begin(self, plan: RunPlan) -> int:
        """Take up the run that lies here, or write down a new one; return its id.

        A run that was cut before its first tile binds nobody: it is begun anew, for instance with a mended source.

        Raises:
            RunFolderError: the run that lies here is of another model, source or settings.
        """
        stored = self.reader.run_or_none()
        if stored is None:
            return self._insert_plan(plan)
        differences = plan.differences(stored.plan)
        if differences and not self.reader.count_tiles() and not self._has_live_rows():
            self._forget()
            return self._insert_plan(plan)
        if differences:
            mend = "repeat the command as it was first given, or choose another --out"
            raise RunFolderError(f"{self._path.parent} holds another run: {'; '.join(differences)}", mend=mend)
        self.event(stored.id, "resumed", f"by edgekit {__version__}")
        return stored.id

    def open_row(self, run_id: int, plan: LiveRowPlan) -> tuple[int, int]:
        """A live row begins: write it down, committed; return its id and its number."""
        statement = (
            "INSERT INTO sources (run_id, number, path, kind, fingerprint, state, row, side, opened_by, opened_at)"
            " VALUES (?, ?, ?, 'live', '', 'open', ?, ?, ?, ?)"
        )
        with self._gathered():
            number = len(self.reader.sources())
            values = (f"{plan.row} {plan.side}", plan.row, plan.side, plan.opened_by, _now())
            cursor = self._connection.execute(statement, (run_id, number, *values))
        self.commit()
        return cursor.lastrowid or 0, number

    def name_row(self, source_id: int, row: str | None, side: str | None) -> None:
        """Give a source the name and side that it had in an earlier run; committed with what comes next."""
        with self._gathered():
            self._connection.execute("UPDATE sources SET row = ?, side = ? WHERE id = ?", (row, side, source_id))

    def end_row(self, source_id: int, shape: PanoramaShape) -> None:
        """A live row is over and its panorama on the disk: note its shape; its tiles may still wait."""
        with self._gathered():
            self._connection.execute(_SET_SHAPE, ("waiting", *_shape_columns(shape), source_id))

    def drop_pictures(self, source_id: int) -> None:
        """The pictures of a row's panorama are not kept, or not all of them; committed when this returns."""
        with self._gathered():
            self._connection.execute("UPDATE sources SET pictures = 0 WHERE id = ?", (source_id,))
        self.commit()

    def sit_down(self, run_id: int, sitting: Sitting) -> int:
        """A process begins to write a live run; return the id of its sitting."""
        statement = "INSERT INTO sittings (run_id, boot_id, alive_s, alive_at, ended) VALUES (?, ?, ?, ?, ?)"
        values = (sitting.boot_id, sitting.alive_s, sitting.alive_at, int(sitting.ended))
        with self._gathered():
            cursor = self._connection.execute(statement, (run_id, *values))
        self.commit()
        return cursor.lastrowid or 0

    def still_sitting(self, sitting_id: int, sitting: Sitting) -> None:
        """The process works, or ends in an orderly way; committed with what comes next."""
        statement = "UPDATE sittings SET alive_s = ?, alive_at = ?, ended = ? WHERE id = ?"
        with self._gathered():
            self._connection.execute(statement, (sitting.alive_s, sitting.alive_at, int(sitting.ended), sitting_id))

    def rollback(self) -> None:
        """Give up what was added since the last commit, for instance to add it again when the disk is well."""
        with translated(self._path):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def add_tiles(self, source_id: int, tiles: Iterable[tuple[TileSpec, TileResult]]) -> None:
        """Store a batch of results, all or none; it is committed with the next `commit_if_due` that is due."""
        with self._gathered():
            for spec, result in tiles:
                self._insert_tile(source_id, spec, result)

    def close_source(self, source_id: int, shape: PanoramaShape) -> None:
        """Every tile of a source is stored: note its panorama's shape, and settle where the tiles lie in it.

        While a panorama grows to the left nobody knows where its left edge will be, so tiles are stored with the x that
        counts finished columns.
        """
        settle = "UPDATE tiles SET x_px = ? - x_px - size_px WHERE source_id = ?"
        with self._gathered():
            self._connection.execute(_SET_SHAPE, ("cut", *_shape_columns(shape), source_id))
            if shape.direction < 0:
                self._connection.execute(settle, (shape.size_wh[0], source_id))

    def fail_source(self, source_id: int) -> None:
        """A source cannot be read to its end: its tiles stay, but nothing is counted from it."""
        with self._gathered():
            self._connection.execute("UPDATE sources SET state = 'failed' WHERE id = ?", (source_id,))

    def put_fruit(self, source_id: int, fruit: MergedFruit) -> None:
        """Store the fruit of a source, in place of what was stored before."""
        with self._gathered():
            self._connection.execute("DELETE FROM fruit WHERE source_id = ?", (source_id,))
            self._connection.executemany(_INSERT_FRUIT, _fruit_rows(source_id, fruit))
            self._connection.execute("UPDATE sources SET state = 'merged' WHERE id = ?", (source_id,))

    def commit_if_due(self) -> bool:
        """Commit where the oldest uncommitted change has waited long enough; tell whether nothing is waiting now."""
        if self._connection.in_transaction and time.monotonic() - self._opened_s >= COMMIT_EVERY_S:
            self.commit()
        return not self._connection.in_transaction

    def commit(self) -> None:
        """Put everything that was added onto the disk."""
        with translated(self._path):
            if self._connection.in_transaction:
                self._connection.execute("COMMIT")

    def event(self, run_id: int, kind: str, message: str, *, source_id: int | None = None) -> None:
        """Write down that something happened; it is committed with what comes next."""
        statement = "INSERT INTO events (run_id, source_id, at, kind, message) VALUES (?, ?, ?, ?, ?)"
        with self._gathered():
            self._connection.execute(statement, (run_id, source_id, _now(), kind, message))

    def finish(self, run_id: int) -> None:
        """The run and the files beside the database are complete; on the disk when this returns."""
        self.event(run_id, "finished", f"by edgekit {__version__}")
        with self._gathered():
            done = "UPDATE runs SET state = 'finished', finished_at = ? WHERE id = ?"
            self._connection.execute(done, (_now(), run_id))
        self.commit()

    def close(self) -> None:
        """Commit what waits and close the database; calling it twice does no harm."""
        try:
            self.commit()
        finally:
            self._connection.close()

    @contextmanager
    def _gathered(self) -> Iterator[None]:
        """All of the block's changes or none of them, in the transaction that gathers until the next commit."""
        with translated(self._path):
            if not self._connection.in_transaction:
                self._connection.execute("BEGIN IMMEDIATE")
                self._opened_s = time.monotonic()
            with savepoint(self._connection):
                yield

    def _forget(self) -> None:
        """Take off a run that has no tiles."""
        with self._gathered():
            for table in ("events", "fruit", "sources", "runs"):
                self._connection.execute(f"DELETE FROM {table}")

    def _has_live_rows(self) -> bool:
        """Their panoramas lie on the disk, even where no tile is stored yet."""
        return any(source.kind == "live" for source in self.reader.sources())

    def _insert_plan(self, plan: RunPlan) -> int:
        values = (__version__, _now(), json.dumps(plan.model), plan.model_id, json.dumps(plan.settings))
        season = None if plan.season is None else json.dumps(season_as_json(plan.season))
        insert_run = (
            "INSERT INTO runs (edgekit, started_at, model, model_id, settings, threshold, threshold_from, season)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        )
        insert_source = "INSERT INTO sources (run_id, number, path, kind, fingerprint) VALUES (?, ?, ?, ?, ?)"
        with self._gathered():
            cursor = self._connection.execute(insert_run, (*values, plan.threshold, plan.threshold_from, season))
            run_id = cursor.lastrowid or 0
            self._connection.executemany(
                insert_source,
                [(run_id, n, item.path, item.kind, item.fingerprint) for n, item in enumerate(plan.sources)],
            )
        self.event(run_id, "started", f"by edgekit {__version__}")
        self.commit()
        return run_id

    def _insert_tile(self, source_id: int, spec: TileSpec, result: TileResult) -> None:
        cursor = self._connection.execute(_INSERT_TILE, (source_id, *spec, result.candidates, int(result.flags)))
        self._connection.executemany(
            _INSERT_DETECTION,
            [(cursor.lastrowid, number, *row) for number, row in enumerate(_instance_rows(result.instances))],
        )


_INSERT_TILE = (
    "INSERT INTO tiles (source_id, number, x_px, y_px, size_px, candidates, flags) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_INSERT_DETECTION = (
    "INSERT INTO detections (tile_id, number, score, label, x0_px, y0_px, x1_px, y1_px,"
    " mask_x_px, mask_y_px, mask_width_px, mask_height_px, rle) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_SET_SHAPE = (
    "UPDATE sources SET state = ?, frames = ?, width_px = ?, height_px = ?, segments = ?, px_per_metre = ?, bridged = ?"
    " WHERE id = ?"
)
_INSERT_FRUIT = (
    "INSERT INTO fruit (source_id, number, score, label, x0_px, y0_px, x1_px, y1_px, mask_x_px, mask_y_px,"
    " mask_width_px, mask_height_px, rle, area_px, cut, pieces)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def _instance_rows(instances: Instances) -> Iterable[tuple[object, ...]]:
    """score, label, x0, y0, x1, y1 and the mask's columns of each object, as plain Python types."""
    columns = zip(
        instances.scores.tolist(),
        instances.labels.tolist(),
        instances.boxes_xyxy.tolist(),
        instances.masks,
        strict=True,
    )
    for score, label, box, mask in columns:
        yield (score, label, *box, *to_columns(mask))


def _shape_columns(shape: PanoramaShape) -> tuple[object, ...]:
    return (shape.frames, *shape.size_wh, shape.segments, shape.px_per_metre, json.dumps(shape.bridged))


def _fruit_rows(source_id: int, fruit: MergedFruit) -> Iterable[tuple[object, ...]]:
    described = zip(_instance_rows(fruit.instances), fruit.instances.masks, fruit.cut, fruit.pieces, strict=True)
    for number, (row, mask, cut, pieces) in enumerate(described):
        yield (source_id, number, *row, mask.area_px, int(cut), pieces)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
