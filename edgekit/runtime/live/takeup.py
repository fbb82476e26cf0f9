"""The start of a live run, after whatever ended the last one: repair, take up, and tell what is missing."""

from __future__ import annotations

import time
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from edgekit.errors import RunDamagedError
from edgekit.runtime.live.live_row import LiveRow, live_row
from edgekit.runtime.panorama.left_open import close_left_open
from edgekit.runtime.panorama.segments import SegmentIndex
from edgekit.runtime.watch.snapshot import Gap
from edgekit.store import PanoramaShape, RunFolder, RunRecorder, Sitting, StoredSource
from edgekit.tiles import TileSettings

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Taken(NamedTuple):
    """What a start found."""

    rows: list[tuple[LiveRow, SegmentIndex]]
    """Rows with tiles that wait, and the segments of each."""
    named: Counter[str]
    """How many rows each side has had."""
    gap: Gap | None
    """The time in which nobody counted; None where the last process ended in an orderly way."""


def sitting_now(*, ended: bool = False) -> Sitting:
    """This process at this moment."""
    try:
        boot_id = _BOOT_ID.read_text("ascii").strip()
    except OSError:
        boot_id = ""
    return Sitting(boot_id, time.monotonic(), datetime.now(timezone.utc).isoformat(timespec="seconds"), ended)


def take_up(folder: RunFolder, recorder: RunRecorder, run_id: int, tiles: TileSettings) -> Taken:
    """Close the rows that were open when the last process ended, with what is on the disk; find what waits.

    Raises:
        StorageError: the disk is full, read-only or failing.
    """
    gap = _gap(recorder.reader.last_sitting(run_id), sitting_now())
    rows: list[tuple[LiveRow, SegmentIndex]] = []
    named: Counter[str] = Counter()
    cut = 0
    for source in recorder.reader.sources():
        named[source.side or ""] += 1
        if source.state == "open":
            cut += 1
            source = _closed(folder, recorder, run_id, source)
        if source.state == "waiting":
            rows += _waiting(folder, recorder, run_id, source, tiles)
    if gap is not None:
        gap = Gap(f"{gap.what}; {cut} rows were open" if cut else gap.what, gap.seconds)
        recorder.event(run_id, "gap", gap.what)
    recorder.commit()
    return Taken(rows, named, gap)


def _closed(folder: RunFolder, recorder: RunRecorder, run_id: int, source: StoredSource) -> StoredSource:
    """A row that was open: its panorama is what reached the disk."""
    index = _index(folder, recorder, run_id, source)
    if index is None:
        recorder.fail_source(source.id)
        recorder.event(run_id, "source fault", "the power went before its first segment", source_id=source.id)
    else:
        shape = PanoramaShape(None, (index.width_px, index.height_px), len(index.files), direction=index.direction)
        recorder.end_row(source.id, shape)
        recorder.event(run_id, "remark", f"the row was cut off at {index.width_px} px", source_id=source.id)
    return recorder.reader.source(source.id)


def _waiting(
    folder: RunFolder, recorder: RunRecorder, run_id: int, source: StoredSource, tiles: TileSettings
) -> list[tuple[LiveRow, SegmentIndex]]:
    """A row whose tiles wait."""
    index = _index(folder, recorder, run_id, source)
    if index is None:
        recorder.fail_source(source.id)
        recorder.event(run_id, "source fault", "its panorama is not on the disk", source_id=source.id)
        return []
    row = live_row(
        (source.id, source.number),
        (source.row or source.path, source.side or ""),
        folder=folder.segments(source.number),
        tiles=tiles,
        stored=recorder.reader.tile_specs(source.id),
    )
    row.direction = index.direction
    size_wh = (index.width_px, index.height_px)
    row.shape = PanoramaShape(
        source.frames,
        size_wh,
        len(index.files),
        direction=index.direction,
        px_per_metre=source.px_per_metre,
        bridged=source.bridged,
    )
    return [(row, index)]


def _index(folder: RunFolder, recorder: RunRecorder, run_id: int, source: StoredSource) -> SegmentIndex | None:
    try:
        return close_left_open(folder.segments(source.number))
    except RunDamagedError as error:
        recorder.event(run_id, "remark", error.what, source_id=source.id)
        return None


def _gap(last: Sitting | None, now: Sitting) -> Gap | None:
    """What lies between the last sign of life and now; by the wall clock where the machine has started anew since."""
    if last is None or last.ended:
        return None
    if last.boot_id == now.boot_id and now.boot_id:
        seconds = now.alive_s - last.alive_s
        return Gap(f"edgekit was ended without warning; nothing was seen for {seconds:.0f} s", seconds)
    seconds = (datetime.fromisoformat(now.alive_at) - datetime.fromisoformat(last.alive_at)).total_seconds()
    if seconds < 0:
        return Gap("the power went, and the clock has been set back since: nobody knows for how long", None)
    return Gap(f"the power went; by the clock, which may be wrong, nothing was seen for {seconds:.0f} s", seconds)
