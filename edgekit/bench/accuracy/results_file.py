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
from edgekit.labels.coco import known_id, read_json, rle_mask
from edgekit.labels.outline import polygon_points, polygons_mask, require_reach
from edgekit.masks import EMPTY, bounds_xyxy

Row = tuple[int, int, float, MaskCrop | None, tuple[float, ...]]
"""Picture, class, score, mask and box of a result."""


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
        LabelsError: the file cannot be read, a score is no confidence, a result names a picture or class that the
            labels do not have, or neither side holds anything.
    """
    entries = _entries(path)
    _require_scores(entries, path)
    kept = labels.with_ignored_classes(ignore_classes)
    scored = [name for name in kept.class_names if name not in ignore_classes]
    numbers = {name: place for place, name in enumerate(scored)}
    truth = truth_from_labels(kept, scored, numbers, any_class=frozenset(ignore_classes))
    if not len(truth) and not entries:
        what = f"nothing to score: {labels.source or 'the labels'} hold no object and {path} no result"
        raise LabelsError(what, mend="name the files that hold them")
    pictures, classes = _places(labels, numbers)
    rows: list[Row] = []
    odd: list[OddAnnotation] = []
    for position, entry in enumerate(entries):
        picture = pictures.get(known_id(entry.get("image_id")))
        number = classes.get(known_id(entry.get("category_id")))
        if picture is None or number is None:
            what = f"image_id {entry.get('image_id')}, category_id {entry.get('category_id')}"
            raise LabelsError(f"result {position} of {path} ({what}) does not belong to {labels.source}",
                              mend="score it against the labels it was made for")  # fmt: skip
        try:
            rows.append((picture, number, float(entry["score"]), *_shape(entry, truth.sizes_wh[picture])))
        except LabelsError as error:
            odd.append(OddAnnotation(f"{path.name}#{position}", truth.picture_names[picture], "refused", error.what))
    return truth, _columns(rows), tuple(odd)


def _entries(path: Path) -> list[Mapping[str, Any]]:
    data = read_json(path)
    entries = data.get("annotations") if isinstance(data, dict) else data
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        mend = "name a JSON list of image_id, category_id, score, and segmentation or bbox"
        raise LabelsError(f"{path} is no list of COCO results", mend=mend)
    if isinstance(data, dict) and entries and not any("score" in entry for entry in entries):
        raise LabelsError(f"{path} holds labels, no results: nothing in it has a score",
                          mend="the results come first, the labels go to --data")  # fmt: skip
    return entries


def _require_scores(entries: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Every score is a confidence: a file in which one is not was not written by what it seems to be from."""
    scores = [entry.get("score") for entry in entries]
    _refuse(
        path, scores, [not _is_finite(score) for score in scores], "no finite number",
        mend="find out what wrote it, or leave such results out",
    )  # fmt: skip
    _refuse(
        path, scores, [not 0 <= float(score or 0) <= 1 for score in scores], "outside 0 to 1",
        mend="give confidences; percents are divided by 100",
    )  # fmt: skip


def _refuse(path: Path, scores: Sequence[Any], bad: Sequence[bool], kind: str, *, mend: str) -> None:
    if any(bad):
        first = bad.index(True)
        what = f"scores {kind} in {path}: {sum(bad)} of {len(bad)}, the first in result {first}: {scores[first]!r}"
        raise LabelsError(what, mend=mend)


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and bool(np.isfinite(value))


def _places(labels: LabelSet, numbers: Mapping[str, int]) -> tuple[dict[Any, int], dict[Any, int]]:
    """Position of each picture and of each scored class, by their ids in the labels."""
    pictures = {picture.id if picture.id is not None else n: n - 1 for n, picture in enumerate(labels.pictures, 1)}
    names = dict(zip(labels.class_ids or range(1, len(labels.class_names) + 1), labels.class_names, strict=True))
    return pictures, {number: numbers[name] for number, name in names.items() if name in numbers}


def _shape(entry: Mapping[str, Any], size_wh: tuple[int, int]) -> tuple[MaskCrop | None, tuple[float, ...]]:
    """Mask and box of a result."""
    mask = _mask(entry["segmentation"], size_wh) if entry.get("segmentation") is not None else None
    if entry.get("bbox") is not None:
        return mask, _box(entry["bbox"], size_wh)
    if mask is None:
        raise LabelsError("neither segmentation nor bbox")
    return mask, tuple(float(value) for value in bounds_xyxy(mask))


def _box(numbers: Any, size_wh: tuple[int, int]) -> tuple[float, ...]:
    if not isinstance(numbers, list) or len(numbers) != 4 or not all(map(_is_finite, numbers)):
        raise LabelsError(f"a box must be x, y, width, height, got {str(numbers)[:60]}")
    x, y, width, height = (float(value) for value in numbers)
    if width < 0 or height < 0:
        raise LabelsError(f"a box of {width:g} x {height:g} pixels")
    require_reach(np.array([[x, y], [x + width, y + height]]), size_wh)
    return (x, y, x + width, y + height)


def _mask(outline: Any, size_wh: tuple[int, int]) -> MaskCrop:
    if isinstance(outline, list):
        return polygons_mask([polygon_points(part) for part in outline], size_wh)[0] if outline else EMPTY
    if not isinstance(outline, dict):
        raise LabelsError(f"a segmentation must be polygons or RLE, got {type(outline).__name__}")
    return rle_mask(outline, size_wh)


def _columns(rows: list[Row]) -> Predictions:
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
