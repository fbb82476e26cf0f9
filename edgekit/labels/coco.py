"""Read COCO instance labels: polygons, compressed and plain RLE, crowds, ignored objects, boxes without outline."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from edgekit.contracts import MaskCrop
from edgekit.errors import LabelsError
from edgekit.labels.collect import Drawn, OddLog, finish, picture_name, picture_size
from edgekit.labels.model import LabelledInstance, LabelledPicture, LabelSet
from edgekit.labels.outline import polygon_points, rectangle
from edgekit.masks import CocoRle, decode
from edgekit.masks.rle import from_run_lengths

LONGEST_WHOLE = 19
"""Characters of a whole number from which on it may not fit 64 bits."""
NO_ID = -1
"""What stands for an id that cannot be one; files count from 0 or 1."""
_OWN_KEYS = frozenset(
    {"id", "image_id", "category_id", "segmentation", "bbox", "area", "iscrowd", "ignore", "score", "attributes"}
)


def read_json(path: Path) -> Any:
    """The value of a JSON file.

    Raises:
        LabelsError: the file is not there or is not JSON (cut short, for instance).
    """
    try:
        return json.loads(path.read_bytes(), parse_int=_whole)
    except OSError as error:
        raise LabelsError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # RecursionError: brackets without end
        raise LabelsError(f"{path} is no JSON ({error})", mend="the file may have been cut: write it again") from error


def _whole(digits: str) -> float:
    """A whole number; one of more digits than 64 bits hold as a float, which is what comes next and cannot overflow."""
    return int(digits) if len(digits) < LONGEST_WHOLE else float(digits)


def objects_of(value: Any, what: str) -> list[dict[str, Any]]:
    """A list of JSON objects; `what` is for messages.

    Raises:
        LabelsError: anything else.
    """
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise LabelsError(f"{what}: no list of objects", mend="find out what wrote it, or write it again")
    return value


def read_coco(path: Path, *, images: Path | None = None) -> LabelSet:
    """Read a COCO instances file; pictures come in the order of their ids, as in COCO's own tools.

    Crowds (`iscrowd` 1) keep their mark and are told in `odd`; a missing `iscrowd` counts as 0, `ignore` 1 is kept
    whatever `iscrowd` says (pycocotools drops it).

    Args:
        path: the JSON file.
        images: folder of the pictures; needed only where the file lacks sizes.

    Raises:
        LabelsError: the file cannot be read, is no COCO file, or has two pictures or classes of one id.
    """
    return parse_coco(read_json(path), source=str(path), images=images)


def parse_coco(data: Any, *, source: str, images: Path | None = None) -> LabelSet:
    """The labels of a COCO file's value; see `read_coco`."""
    if not isinstance(data, dict) or not {"images", "annotations", "categories"} <= data.keys():
        raise LabelsError(f"{source} is no COCO instances file: it needs images, annotations and categories")
    log = OddLog()
    pictures = _pictures(objects_of(data["images"], f"images of {source}"), source, images)
    categories = _categories(objects_of(data["categories"], f"categories of {source}"), source)
    annotations = objects_of(data["annotations"], f"annotations of {source}")
    found: dict[int, list[LabelledInstance]] = {number: [] for number in pictures}
    seen: set[str] = set()
    for position, annotation in enumerate(annotations):
        instance = _instance(annotation, position, (pictures, categories), log)
        if instance is None:
            continue
        if instance.id in seen:
            fresh = f"{instance.id}#{position}"
            log.note(instance.id, pictures[annotation["image_id"]].name, "mended", f"id used twice: now {fresh}")
            instance = replace(instance, id=fresh)
        seen.add(instance.id)
        found[annotation["image_id"]].append(instance)
    _note_crowds(annotations, log)
    by_id = sorted(pictures.items(), key=lambda item: (isinstance(item[0], str), item[0]))
    return LabelSet(
        tuple(replace(picture, instances=tuple(found[number])) for number, picture in by_id),
        tuple(categories.values()), tuple(log.entries), tuple(categories), source,
    )  # fmt: skip


def _pictures(entries: Iterable[Mapping[str, Any]], source: str, images: Path | None) -> dict[int, LabelledPicture]:
    pictures: dict[int, LabelledPicture] = {}
    names: set[str] = set()
    for entry in entries:
        if known_id(entry.get("id")) == NO_ID or not isinstance(entry.get("file_name"), str):
            raise LabelsError(f"{source} has a picture without id or file_name: {str(entry)[:80]}")
        number, name = entry["id"], picture_name(entry["file_name"])
        if number in pictures or name in names:
            raise LabelsError(f"{source} lists picture {number} ({name}) twice", mend="give each picture one entry")
        size = (entry.get("width"), entry.get("height"))
        if not all(isinstance(side, int) and side > 0 for side in size):
            size = picture_size((images or Path(source).parent / "images") / name)
        names.add(name)
        pictures[number] = LabelledPicture(name, (int(size[0] or 0), int(size[1] or 0)), (), number)
    return pictures


def _categories(entries: Iterable[Mapping[str, Any]], source: str) -> dict[int, str]:
    categories: dict[int, str] = {}
    entries = list(entries)
    for entry in entries:
        number = entry.get("id")
        if not isinstance(number, (int, float)) or not np.isfinite(number) or "name" not in entry:
            raise LabelsError(f"{source} has a category without a number id or a name: {str(entry)[:80]}")
    for entry in sorted(entries, key=lambda item: item["id"]):
        if entry["id"] in categories or entry["name"] in categories.values():
            raise LabelsError(f"{source} has two categories {entry['name']!r} or of id {entry['id']}",
                              mend="merge them: classes are matched by name")  # fmt: skip
        categories[int(entry["id"])] = str(entry["name"])
    return categories


def _instance(
    annotation: Mapping[str, Any],
    position: int,
    known: tuple[Mapping[int, LabelledPicture], Mapping[int, str]],
    log: OddLog,
) -> LabelledInstance | None:
    pictures, categories = known
    name = str(annotation.get("id", f"#{position}"))
    picture = pictures.get(known_id(annotation.get("image_id")))
    if picture is None:
        log.note(name, None, "refused", f"its picture {annotation.get('image_id')} is not in the file")
        return None
    class_name = categories.get(known_id(annotation.get("category_id")))
    if class_name is None:
        log.note(name, picture.name, "refused", f"its category {annotation.get('category_id')} is not in the file")
        return None
    try:
        drawn = _drawn(annotation, name, class_name, (picture, log))
    except LabelsError as error:
        log.note(name, picture.name, "refused", error.what)
        return None
    instance = finish(drawn, picture.name, picture.size_wh, log)
    return instance and _as_stated(instance, annotation, log, picture.name)


def known_id(value: Any) -> Any:
    """An id as COCO files have them, numbers and now and then texts; `NO_ID` for anything else."""
    return value if isinstance(value, (int, float, str)) else NO_ID


def _drawn(annotation: Mapping[str, Any], name: str, class_name: str, place: tuple[LabelledPicture, OddLog]) -> Drawn:
    picture, log = place
    crowd, ignore = bool(annotation.get("iscrowd", 0)), bool(annotation.get("ignore", 0))
    common = Drawn(name, class_name, is_crowd=crowd, ignore=ignore, attributes=_attributes(annotation))
    outline = annotation.get("segmentation")
    if isinstance(outline, dict):
        return replace(common, masks=(rle_mask(outline, picture.size_wh),))
    if outline:
        if not isinstance(outline, list):
            raise LabelsError(f"a segmentation must be polygons or RLE, got {type(outline).__name__}")
        if isinstance(outline[0], (int, float)):
            points = polygon_points(outline)
            log.note(name, picture.name, "mended", "a flat list of numbers taken as one polygon")
            return replace(common, polygons=(points,))
        return replace(common, polygons=tuple(polygon_points(part) for part in outline))
    box = annotation.get("bbox")
    if box is None:
        raise LabelsError("neither an outline nor a box")
    x, y, width, height = _box_numbers(box)
    return replace(common, polygons=(rectangle(x, y, x + width, y + height),), has_outline=False)


def rle_mask(outline: Mapping[str, Any], size_wh: tuple[int, int]) -> MaskCrop:
    """The mask of an RLE, compressed or not, in a picture of that size.

    Raises:
        LabelsError: an RLE of another size, or one that cannot be read.
    """
    size, counts = outline.get("size"), outline.get("counts")
    if not isinstance(size, (list, tuple)) or counts is None or list(size) != [size_wh[1], size_wh[0]]:
        raise LabelsError(f"an RLE of size {size} (height, width) in a picture of {size_wh[0]} x {size_wh[1]}")
    if isinstance(counts, list):
        return from_run_lengths(counts, size_wh)
    text = counts.decode("ascii", "replace") if isinstance(counts, bytes) else str(counts)
    return decode(CocoRle(size=[int(size[0]), int(size[1])], counts=text))


def _box_numbers(box: Any) -> tuple[float, float, float, float]:
    try:
        x, y, width, height = (float(value) for value in box)
    except (TypeError, ValueError):
        raise LabelsError(f"a box must be x, y, width, height, got {box}") from None
    if not np.isfinite([x, y, width, height]).all() or width <= 0 or height <= 0:
        raise LabelsError(f"a box without an area: {box}")
    return x, y, width, height


def _as_stated(
    instance: LabelledInstance, annotation: Mapping[str, Any], log: OddLog, picture: str
) -> LabelledInstance:
    """Take box and area of the file, as COCO's own evaluation does, unless they are unusable."""
    area = annotation.get("area")
    if isinstance(area, (int, float)) and np.isfinite(area) and area > 0:
        instance = replace(instance, area_px=float(area))
    if "bbox" in annotation:
        try:
            x, y, width, height = _box_numbers(annotation["bbox"])
        except LabelsError as error:
            log.note(instance.id, picture, "mended", f"{error.what}: taken from the outline")
        else:
            instance = replace(instance, box_xyxy=np.array([x, y, x + width, y + height], np.float64))
    return instance


def _attributes(annotation: Mapping[str, Any]) -> Mapping[str, str]:
    own = {key: value for key, value in annotation.items() if key not in _OWN_KEYS}
    nested = annotation.get("attributes")
    return MappingProxyType({
        str(key): str(value) for key, value in {**own, **(nested if isinstance(nested, dict) else {})}.items()
        if isinstance(value, (str, int, float, bool))
    })  # fmt: skip


def _note_crowds(annotations: Iterable[Mapping[str, Any]], log: OddLog) -> None:
    marks = [annotation.get("iscrowd") for annotation in annotations]
    count = Counter("missing" if mark is None else int(bool(mark)) for mark in marks)
    if count["missing"]:
        log.note_file("mended", f"{count['missing']} annotations have no iscrowd: taken as 0")
    crowds = sum(number for value, number in count.items() if value not in ("missing", 0))
    if crowds:
        share = 100 * crowds / sum(count.values())
        told = f"{crowds} of {sum(count.values())} annotations ({share:.0f} %) are crowds (iscrowd 1)"
        advice = "what is predicted there is neither right nor wrong; some tools mark every brush mask so"
        log.note_file("kept", f"{told}: {advice}")
