"""Fruit as a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from edgekit.store.records import MergedFruit, StoredSource

COLUMNS = (
    "source", "number", "class", "score", "x0_px", "y0_px", "x1_px", "y1_px", "area_px", "cut", "pieces",
)  # fmt: skip
"""`number` counts from 1 within a source, left to right; boxes are panorama pixels; `cut` is 1 where no tile saw the
fruit whole; `pieces` are the detections that it was made of."""


def fruit_csv(found: Iterable[tuple[StoredSource, MergedFruit]], class_names: Sequence[str]) -> bytes:
    """One line a fruit; scores to six digits and boxes to 0.01 px, beyond which nothing is known."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for source, fruit in found:
        table.writerows(_lines(source, fruit, class_names))
    return text.getvalue().encode()


def _lines(source: StoredSource, fruit: MergedFruit, class_names: Sequence[str]) -> Iterable[tuple[object, ...]]:
    found = fruit.instances
    columns = zip(found.labels.tolist(), found.scores.tolist(), found.boxes_xyxy.tolist(), found.masks, strict=True)
    for index, (label, score, box, mask) in enumerate(columns):
        yield (
            source.path, index + 1, class_names[label], f"{score:.6g}", *(f"{edge:.2f}" for edge in box), mask.area_px,
            int(fruit.cut[index]), fruit.pieces[index],
        )  # fmt: skip
