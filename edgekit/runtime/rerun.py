"""A second look: the stored panoramas of a run, segmented again with another model or threshold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgekit.errors import RunFolderError
from edgekit.runtime.job import BuiltRow
from edgekit.runtime.panorama.segments import INDEX_NAME
from edgekit.runtime.row_source import fingerprint
from edgekit.runtime.settings import RunSettings
from edgekit.settings_file import settings_from
from edgekit.store import RunFolder, RunReader, SourcePlan, StoredSource
from edgekit.store.summary import count_rows, total_fruit


@dataclass(frozen=True)
class StoredPanoramas:
    """What a run has left to look at again."""

    sources: tuple[SourcePlan, ...]
    """By the names that they had."""
    rows: tuple[BuiltRow, ...]
    """One for each source."""
    settings: RunSettings
    """Those of the run: tiles, merging and scale."""
    left_out: tuple[str, ...]
    """Rows that cannot be looked at again, and why, a line each."""


def stored_panoramas(run: Path) -> StoredPanoramas:
    """The panoramas of a run, finished or not.

    Raises:
        RunFolderError: the folder holds no run, or one without any whole panorama.
        RunDamagedError: its database is damaged.
        SettingsError: it was made with settings that this edgekit does not know.
    """
    folder = RunFolder(run)
    reader = RunReader.open(folder.database)
    try:
        plan, remarks = reader.run().plan, _remarks(reader)
        sources, rows, left_out = [], [], []
        for source in reader.sources():
            segments = folder.segments(source.number)
            reason = _why_not(source, segments)
            if reason is None:
                sources.append(SourcePlan(source.path, "panorama", fingerprint(segments)))
                rows.append(_built(source, segments, remarks.get(source.id, ())))
            else:
                left_out.append(f"{source.path}: {reason}")
    finally:
        reader.close()
    if not rows:
        why = f" ({'; '.join(left_out)})" if left_out else ""
        raise RunFolderError(f"{run} has no panorama to look at again{why}")
    return StoredPanoramas(tuple(sources), tuple(rows), _settings(plan.settings), tuple(left_out))


def compare_runs(first: Path, second: Path) -> dict[str, Any]:
    """The counts of two runs side by side, each by its own rule; a row that one of them lacks has None there.

    Raises:
        RunFolderError: one of the folders holds no run.
        RunDamagedError: a database is damaged.
    """
    before, after = _counts(first), _counts(second)
    names = [*before["rows"], *(name for name in after["rows"] if name not in before["rows"])]
    rows = [_pair(name, before["rows"].get(name), after["rows"].get(name)) for name in names]
    sides = {key: [before[key], after[key]] for key in ("run", "model", "model_id", "threshold", "threshold_from")}
    return {**sides, "fruit": [before["fruit"], after["fruit"]], "rows": rows}


def _pair(name: str, before: int | None, after: int | None) -> dict[str, Any]:
    both = before is not None and after is not None
    return {"source": name, "fruit": [before, after], "difference": after - before if both else None}  # type: ignore[operator]


def _counts(run: Path) -> dict[str, Any]:
    reader = RunReader.open(RunFolder(run).database)
    try:
        plan = reader.run().plan
        rows = count_rows(reader, plan.rule)
    finally:
        reader.close()
    return {
        "run": str(run),
        "model": plan.model.get("file"),
        "model_id": plan.model_id,
        "threshold": plan.threshold,
        "threshold_from": plan.threshold_from,
        "fruit": total_fruit(rows),
        "rows": dict(zip(_unlike([row["source"] for row in rows]), (row["fruit"] for row in rows), strict=True)),
    }


def _unlike(names: list[str]) -> list[str]:
    """Names that tell rows apart which bear the same one, as a live run's do that was ridden along twice."""
    before = [names[:at].count(name) for at, name in enumerate(names)]
    return [f"{name} ({again + 1})" if again else name for name, again in zip(names, before, strict=True)]


def _built(source: StoredSource, segments: Path, remarks: tuple[str, ...]) -> BuiltRow:
    return BuiltRow(
        segments,
        source.row,
        source.side,
        remarks,
        px_per_metre=source.px_per_metre,
        bridged=source.bridged,
    )


def _why_not(source: StoredSource, segments: Path) -> str | None:
    if not source.pictures:
        return "its pictures were not kept, for want of space"
    if not (segments / INDEX_NAME).is_file():
        return "its panorama is unfinished or gone"
    return None


def _remarks(reader: RunReader) -> dict[int, tuple[str, ...]]:
    """What was said of each row's panorama; what was said of its confidences belongs to the other model."""
    said: dict[int, tuple[str, ...]] = {}
    for event in reader.events():
        if event.kind == "remark" and event.source_id is not None and "drifted" not in event.message:
            said[event.source_id] = (*said.get(event.source_id, ()), event.message)
    return said


def _settings(flat: dict[str, Any]) -> RunSettings:
    """Settings from what `RunSettings.flat` has written."""
    nested: dict[str, Any] = {}
    for key, value in _without_none(flat).items():
        table, _, name = key.rpartition(".")
        (nested.setdefault(table, {}) if table else nested)[name] = value
    return settings_from(nested, RunSettings)


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    """What is not set is left out, as in a file that a person writes."""
    return {
        key: _without_none(value) if isinstance(value, dict) else value
        for key, value in values.items()
        if value is not None
    }
