"""Read the COCO results of any tool against a label set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgekit.bench.accuracy.objects import Predictions, Truth, truth_from_labels
from edgekit.contracts import MaskCrop
from edgekit.errors import LabelsError
from edgekit.labels import LabelSet, OddAnnotation
from edgekit.labels.coco import read_json
from edgekit.labels.outline import polygon_points, polygons_mask
from edgekit.masks import EMPTY, CocoRle, bounds_xyxy, decode
from edgekit.masks.rle import from_run_lengths


def read_results(
    path: Path, labels: LabelSet, *, ignore_classes: Sequence[str] = ()
) -> tuple[Truth, Predictions, tuple[OddAnnotation, ...]]:
    """Read a list of COCO results (`image_id`, `category_id`, `score`, and `segmentation` or `bbox`).

    Args:
        path: JSON file: a list, or an object with the list under `annotations`.
        labels: the labels they belong to; its ids name pictures and classes.
        ignore_classes: label classes that are ignored regions for every class.

    Returns:
        The labels and the results as columns, and the results that were refused, by position.

    Raises:
        LabelsError: the file cannot be read, or a result names a picture or class that the labels do not have.
    """
    data = read_json(path)
    entries = data.get("annotations") if isinstance(data, dict) else data
    if not isinstance(entries, list):
        raise LabelsError(f"{path} is no list of COCO results")
    pictures = {picture.id if picture.id is not None else n: n for n, picture in enumerate(labels.pictures, 1)}
    index = {number: place - 1 for number, place in pictures.items()}
    classes = dict(zip(labels.class_ids or range(1, len(labels.class_names) + 1), labels.class_names, strict=True))
    scored = [name for name in labels.class_names if name not in ignore_classes]
    numbers = {name: place for place, name in enumerate(scored)}
    truth = truth_from_labels(labels, scored, numbers, any_class=frozenset(ignore_classes))
    rows: list[tuple[int, int, float, MaskCrop | None, tuple[float, ...]]] = []
    odd: list[OddAnnotation] = []
    for position, entry in enumerate(entries):
        place = index.get(entry.get("image_id", -1))
        name = classes.get(entry.get("category_id", -1))
        if place is None or name not in numbers:
            what = f"image_id {entry.get('image_id')}, category_id {entry.get('category_id')}"
            raise LabelsError(f"result {position} of {path} ({what}) does not belong to {labels.source}",
                              mend="score it against the labels it was made for")  # fmt: skip
        try:
            rows.append((place, numbers[name], *_row(entry, truth.sizes_wh[place])))
        except LabelsError as error:
            odd.append(OddAnnotation(f"#{position}", truth.picture_names[place], "refused", error.what))
    return truth, _columns(rows), tuple(odd)


def _row(entry: Mapping[str, Any], size_wh: tuple[int, int]) -> tuple[float, MaskCrop | None, tuple[float, ...]]:
    score = entry.get("score")
    if not isinstance(score, (int, float)) or not np.isfinite(score):
        raise LabelsError(f"score {score!r} is no number")
    mask = _mask(entry["segmentation"], size_wh) if entry.get("segmentation") is not None else None
    box = entry.get("bbox")
    if box is not None:
        x, y, width, height = (float(value) for value in box)
        return float(score), mask, (x, y, x + width, y + height)
    if mask is None:
        raise LabelsError("neither segmentation nor bbox")
    return float(score), mask, tuple(float(value) for value in bounds_xyxy(mask))


def _mask(outline: Any, size_wh: tuple[int, int]) -> MaskCrop:
    if isinstance(outline, list):
        return polygons_mask([polygon_points(part) for part in outline], size_wh)[0] if outline else EMPTY
    if list(outline.get("size", ())) != [size_wh[1], size_wh[0]]:
        raise LabelsError(f"an RLE of size {outline.get('size')} in a picture of {size_wh[0]} x {size_wh[1]}")
    if isinstance(outline["counts"], list):
        return from_run_lengths(outline["counts"], size_wh)
    return decode(CocoRle(size=outline["size"], counts=outline["counts"]))


def _columns(rows: list[tuple[int, int, float, MaskCrop | None, tuple[float, ...]]]) -> Predictions:
    """Columns in the order of pictures; within a picture as in the file. Masks only where every result has one."""
    rows = sorted(rows, key=lambda row: row[0])
    masks = [row[3] for row in rows if row[3] is not None]
    return Predictions(
        np.array([row[0] for row in rows], np.intp),
        np.array([row[1] for row in rows], np.intp),
        np.array([row[4] for row in rows], np.float64).reshape(-1, 4),
        np.array([row[2] for row in rows], np.float64),
        tuple(masks) if len(masks) == len(rows) else None,
    )
