"""The files that are written from the database when every row is counted."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from edgekit.atomic import write_atomic
from edgekit.runtime.annotate import Row, annotated, encode_png
from edgekit.runtime.panorama.segments import SegmentReader
from edgekit.store import CountRule, MergedFruit, RunFolder, RunReader, StoredSource
from edgekit.store.coco import coco_dataset, coco_results, to_json
from edgekit.store.fruit_csv import fruit_csv

Counted = list[tuple[StoredSource, MergedFruit]]


def write_results(folder: RunFolder, reader: RunReader) -> None:
    """Write the counted fruit as COCO results and as a table, and the annotated picture.

    Segments that were not kept, or are damaged, stay black in the picture; the fruit is drawn all the same.

    Raises:
        RunDamagedError: the index of a panorama is missing.
        StorageError: the disk is full, read-only or failing.
    """
    plan = reader.run().plan
    names: list[str] = plan.model["class_names"]
    counted = counted_fruit(reader, plan.rule)
    write_coco(folder.coco_results, counted)
    write_atomic(folder.coco_dataset, to_json(coco_dataset([source for source, _ in counted], names)))
    write_atomic(folder.fruit_csv, fruit_csv(counted, names))
    write_atomic(folder.annotated, encode_png(annotated(_rows(folder, counted))))


def counted_fruit(reader: RunReader, threshold: float | CountRule) -> Counted:
    """The rows that are counted, with their fruit that count at a threshold or by a rule."""
    merged = [source for source in reader.sources() if source.state == "merged"]
    return [(source, reader.fruit(source.id, threshold=threshold)) for source in merged]


def write_coco(path: Path, counted: Counted) -> None:
    """Write fruit as a COCO results file.

    Raises:
        StorageError: the disk is full, read-only or failing.
    """
    write_atomic(path, to_json([result for source, fruit in counted for result in coco_results(source, fruit)]))


def _rows(folder: RunFolder, counted: Counted) -> list[Row]:
    rows = []
    for source, fruit in counted:
        title = f"{Path(source.path).name}: {len(fruit)} fruit"
        if not source.pictures:
            title += ", not all of its pictures were kept"
        overview = partial(SegmentReader(folder.segments(source.number)).overview, lenient=True)
        rows.append(Row(title, source.size_wh, overview, fruit))
    return rows
