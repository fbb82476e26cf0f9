"""Write COCO instances files: plain JSON types, RLE counts as text, nothing rounded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from edgekit.atomic import write_atomic
from edgekit.labels.model import LabelledInstance, LabelledPicture, LabelSet
from edgekit.labels.trace import outlines
from edgekit.masks import encode


def write_coco(
    labels: LabelSet, path: Path, *, outline: Literal["rle", "polygon"] = "rle", tolerance_px: float = 0.0
) -> None:
    """Write labels as one COCO file.

    Args:
        labels: pictures and objects.
        path: the JSON file to write.
        outline: `rle` keeps masks exactly; `polygon` is what most labelling tools can edit.
        tolerance_px: see `edgekit.labels.outlines`; only for polygons.

    Raises:
        StorageError: the file cannot be written.
    """
    data = coco_dict(labels, outline=outline, tolerance_px=tolerance_px)
    write_atomic(path, json.dumps(data, indent=1).encode())


def coco_dict(
    labels: LabelSet, *, outline: Literal["rle", "polygon"] = "rle", tolerance_px: float = 0.0
) -> dict[str, Any]:
    """The value of a COCO file, ready for `json.dumps`; ids of pictures and objects are whole numbers from 1."""
    class_ids = dict(zip(labels.class_names, labels.class_ids or range(1, len(labels.class_names) + 1), strict=True))
    ids = _picture_ids(labels.pictures)
    annotations: list[dict[str, Any]] = []
    taken: set[int] = set()
    for picture, image_id in zip(labels.pictures, ids, strict=True):
        for item in picture.instances:
            segmentation: Any = encode(item.mask, picture.size_wh)
            if outline == "polygon" and not item.is_crowd:
                segmentation = [points.ravel().tolist() for points in outlines(item.mask, tolerance_px=tolerance_px)]
            number = _annotation_id(item, taken)
            annotations.append(
                {"id": number, "image_id": image_id, "category_id": class_ids[item.class_name], **_entry(item)}
                | {"segmentation": segmentation}
            )
    return {
        "images": [
            {"id": number, "file_name": picture.name, "width": picture.size_wh[0], "height": picture.size_wh[1]}
            for picture, number in zip(labels.pictures, ids, strict=True)
        ],
        "annotations": annotations,
        "categories": [{"id": number, "name": name} for name, number in class_ids.items()],
    }


def _entry(item: LabelledInstance) -> dict[str, Any]:
    x0, y0, x1, y1 = (float(value) for value in item.box_xyxy)
    entry: dict[str, Any] = {
        "bbox": [x0, y0, x1 - x0, y1 - y0],
        "area": float(item.area_px),
        "iscrowd": int(item.is_crowd),
    }
    if item.ignore:
        entry["ignore"] = 1
    if item.score is not None:
        entry["score"] = float(item.score)
    if item.attributes:
        entry["attributes"] = {str(key): str(value) for key, value in item.attributes.items()}
    return entry


def _picture_ids(pictures: tuple[LabelledPicture, ...]) -> list[int]:
    """Ids of the source where every picture has one of its own, else 1, 2, ..."""
    own = [picture.id for picture in pictures if picture.id is not None]
    return own if len(set(own)) == len(pictures) else list(range(1, len(pictures) + 1))


def _annotation_id(item: LabelledInstance, taken: set[int]) -> int:
    """The id of the source where it is a positive number (pycocotools takes 0 for "not matched") and still free."""
    number = int(item.id) if item.id.isascii() and item.id.isdigit() else 0
    if number <= 0 or number in taken:
        number = max(taken, default=0) + 1
    taken.add(number)
    return number
