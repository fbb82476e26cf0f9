"""The summary of a run: what it counted, of what, with what, and how long it took."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, TypedDict

from edgekit import __version__
from edgekit.store.count_rule import CountRule
from edgekit.store.reader import RunReader
from edgekit.store.records import StoredSource


@dataclass(frozen=True)
class Timing:
    """What a run cost."""

    seconds: float
    """Wall time of the process that finished the run, opening of the model not included."""
    stages_ms: dict[str, float]
    """Where the time went; stages of two threads may add up to more than the wall time."""
    peak_rss_mb: float
    """Largest resident memory of the process, MiB."""


class PanoramaSize(TypedDict):
    """Of one row, or of all rows end to end (then the largest height)."""

    width_px: int
    height_px: int
    segments: int


class RowCount(TypedDict):
    """What was counted in one row."""

    source: str
    state: str
    """merged: counted. Others have no count: `fruit` is None, and `remarks` says why."""
    frames: int | None
    panorama: PanoramaSize | None
    tiles: int
    detections: int
    fruit: int | None
    fruit_by_class: dict[str, int]
    px_per_metre: float | None
    """Scale: measured in this row, else that of the settings; None where there is none."""
    length_m: float | None
    """Without bridged stretches."""
    bridged_px: int
    """Columns of the panorama whose movement was predicted."""
    bridged_fruit: int
    """Fruit in them: counted, but left out of `fruit_per_metre`."""
    fruit_per_metre: float | None
    remarks: list[str]


class Summary(TypedDict):
    """`summary.json`."""

    edgekit: str
    model: dict[str, Any]
    source: str | list[str]
    """One path, or a list where the run has several sources."""
    frames: int | None
    """None where every source was a finished panorama."""
    panorama: PanoramaSize
    tiles: int
    detections: int
    """At or above the model's score floor, before merging."""
    fruit: int
    """At or above the threshold, after merging."""
    fruit_per_metre: float | None
    """None where no scale was given."""
    threshold: float
    threshold_from: str
    seconds: float
    stages_ms: dict[str, float]
    peak_rss_mb: float
    season: str | None
    """Whose profile set the threshold; None where none did."""
    thresholds_by_height: list[dict[str, float]]
    """top, bottom (shares of the height, 0 the top) and threshold of each band; empty where one serves all heights."""
    drift: dict[str, Any] | None
    """Whether the confidences still are the season's; None where no profile tells what they were."""
    rows: list[RowCount]


def summarise(reader: RunReader, timing: Timing, *, drift: dict[str, Any] | None = None) -> Summary:
    """The summary of a run at its own threshold, from the database."""
    plan = reader.run().plan
    rows = count_rows(reader, plan.rule)
    paths = [row["source"] for row in rows]
    frames = [row["frames"] for row in rows if row["frames"] is not None]
    return {
        "edgekit": __version__,
        "model": plan.model,
        "source": paths[0] if len(paths) == 1 else paths,
        "frames": sum(frames) if frames else None,
        "panorama": _together([row["panorama"] for row in rows if row["panorama"]]),
        "tiles": sum(row["tiles"] for row in rows),
        "detections": sum(row["detections"] for row in rows),
        "fruit": total_fruit(rows),
        "fruit_per_metre": per_metre(rows),
        "threshold": plan.threshold,
        "threshold_from": plan.threshold_from,
        "seconds": timing.seconds,
        "stages_ms": timing.stages_ms,
        "peak_rss_mb": timing.peak_rss_mb,
        "season": None if plan.season is None else plan.season.name,
        "thresholds_by_height": [asdict(band) for band in plan.rule.bands],
        "drift": drift,
        "rows": rows,
    }


def count_rows(reader: RunReader, threshold: float | CountRule) -> list[RowCount]:
    """What was counted in each row, at any threshold at or above the model's score floor, or by a rule."""
    remarks: dict[int | None, list[str]] = {}
    for event in reader.events():
        if event.kind in ("remark", "source fault"):
            remarks.setdefault(event.source_id, []).append(event.message)
    return [_count_row(reader, source, threshold, remarks.get(source.id, [])) for source in reader.sources()]


def total_fruit(rows: list[RowCount]) -> int:
    """Fruit of all rows that are counted."""
    return sum(row["fruit"] or 0 for row in rows)


def per_metre(rows: list[RowCount]) -> float | None:
    """Fruit per metre of the rows that are counted and have a scale; None where none has.

    Bridged stretches are left out, with their fruit: nobody knows how long they are.
    """
    counted = [(row["fruit"] - row["bridged_fruit"], row) for row in rows if row["fruit"] is not None]
    pairs = [(fruit, row["length_m"]) for fruit, row in counted if row["length_m"]]
    length_m = sum(metres for _, metres in pairs if metres)
    return sum(fruit for fruit, _ in pairs) / length_m if length_m else None


def _count_row(reader: RunReader, source: StoredSource, threshold: float | CountRule, remarks: list[str]) -> RowCount:
    counted = source.state == "merged"
    plan = reader.run().plan
    scale = source.px_per_metre or plan.settings.get("px_per_metre")
    names: list[str] = plan.model["class_names"]
    by_label = reader.count_by_label(source.id, threshold) if counted else {}
    bridged_px = sum(stop - start for start, stop in source.bridged)
    row: RowCount = {
        "source": source.path,
        "state": source.state,
        "frames": source.frames,
        "panorama": _size(source),
        "tiles": reader.count_tiles(source.id),
        "detections": reader.count_detections(source.id),
        "fruit": sum(by_label.values()) if counted else None,
        "fruit_by_class": {names[label]: number for label, number in by_label.items()},
        "px_per_metre": scale,
        "length_m": (source.width_px - bridged_px) / scale if scale and source.width_px else None,
        "bridged_px": bridged_px,
        "bridged_fruit": reader.count_bridged(source.id, threshold) if counted else 0,
        "fruit_per_metre": None,
        "remarks": [*dict.fromkeys(remarks), *_limits(reader, source), *_absence(source)],
    }
    row["fruit_per_metre"] = per_metre([row])
    return row


def _absence(source: StoredSource) -> list[str]:
    """Why a row has no count; that of one which cannot be read is among the remarks already."""
    return ["not counted yet: the run is unfinished"] if source.state in ("waiting", "cut") else []


def _size(source: StoredSource) -> PanoramaSize | None:
    if source.width_px is None:
        return None
    return {"width_px": source.width_px, "height_px": source.height_px or 0, "segments": source.segments or 0}


def _together(sizes: list[PanoramaSize]) -> PanoramaSize:
    return {
        "width_px": sum(size["width_px"] for size in sizes),
        "height_px": max((size["height_px"] for size in sizes), default=0),
        "segments": sum(size["segments"] for size in sizes),
    }


def _limits(reader: RunReader, source: StoredSource) -> list[str]:
    """Limits that bit, in words: a count that a limit touched must not pass for a full one."""
    full, flagged = reader.count_limited_tiles(source.id)
    limits = []
    if full:
        limits.append(f"in {full} tiles the model found more objects than it can return: fruit may be missing there")
    if flagged:
        limits.append(f"in {flagged} tiles a limit inside the model bit (NMS or proposals)")
    return limits
