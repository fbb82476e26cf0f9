"""Read VIA projects and annotation files (VGG Image Annotator, version 1 and 2, JSON)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from edgekit.errors import LabelsError
from edgekit.labels.coco import read_json
from edgekit.labels.collect import Drawn, OddLog, finish, ordered_names, picture_name, picture_size
from edgekit.labels.model import LabelledInstance, LabelledPicture, LabelSet
from edgekit.labels.outline import Points, ellipse, rectangle, rotated

CLASS_KEYS = ("class", "label", "name", "type", "category")
"""Region attributes that are taken as the class, in this order, where none is named."""


def read_via(path: Path, *, images: Path, class_key: str | None = None) -> LabelSet:
    """Read a VIA 2 project (`_via_img_metadata`) or an annotation export of VIA 1 or 2.

    Args:
        path: the JSON file.
        images: folder of the pictures; VIA stores no sizes.
        class_key: region attribute that holds the class. Default: the first of `CLASS_KEYS`, or the only one.

    Raises:
        LabelsError: the file cannot be read, is no VIA file, or a picture is missing.
    """
    data = read_json(path)
    if isinstance(data, dict) and "_via_img_metadata" in data:
        data = data["_via_img_metadata"]
    if isinstance(data, dict) and "project" in data and "metadata" in data:
        raise LabelsError(f"{path} is a VIA 3 project", mend="export it as COCO, or annotate with VIA 2")
    if not isinstance(data, dict) or not all(isinstance(item, dict) and "filename" in item for item in data.values()):
        raise LabelsError(f"{path} is no VIA file")
    log = OddLog()
    pictures: dict[str, LabelledPicture] = {}
    for entry in data.values():
        name = picture_name(str(entry["filename"]))
        if name in pictures:
            raise LabelsError(f"{path} describes {name} twice", mend="keep one of them")
        size_wh = picture_size(images / name)
        pictures[name] = LabelledPicture(name, size_wh, tuple(_instances(entry, (name, size_wh), class_key, log)))
    used = {item.class_name for picture in pictures.values() for item in picture.instances}
    return LabelSet(tuple(pictures.values()), ordered_names(used), tuple(log.entries), (), str(path))


def _instances(
    entry: Mapping[str, Any], picture: tuple[str, tuple[int, int]], class_key: str | None, log: OddLog
) -> list[LabelledInstance]:
    name, size_wh = picture
    regions = entry.get("regions") or []
    if not isinstance(regions, (dict, list)):
        log.note(name, name, "refused", f"regions that are neither a list nor an object: {str(regions)[:80]}")
        return []
    found: list[LabelledInstance] = []
    for position, region in enumerate(regions.values() if isinstance(regions, dict) else regions):
        row = f"{name}#{position}"
        try:
            drawn = _drawn(region, row, class_key)
        except (LabelsError, KeyError, TypeError, ValueError, AttributeError) as error:
            reason = error.what if isinstance(error, LabelsError) else f"a region that cannot be read: {error!r}"
            log.note(row, name, "refused", reason)
            continue
        instance = finish(drawn, name, size_wh, log)
        if instance is not None:
            found.append(instance)
    return found


def _drawn(region: Mapping[str, Any], row: str, class_key: str | None) -> Drawn:
    shape = region["shape_attributes"]
    attributes = region.get("region_attributes") or {}
    key = class_key or next((key for key in CLASS_KEYS if key in attributes), None)
    if key is None and len(attributes) == 1:
        key = next(iter(attributes))
    if key is None or not attributes.get(key):
        raise LabelsError(f"no class among the region attributes {sorted(attributes)}")
    value = attributes[key]
    name = ", ".join(sorted(value)) if isinstance(value, dict) else str(value)  # a check box gives {"name": true}
    kind = shape["name"]
    texts = MappingProxyType({str(item): str(content) for item, content in attributes.items() if item != key})
    return Drawn(row, name.strip(), (_outline(kind, shape),), has_outline=kind != "rect", attributes=texts)


def _outline(kind: str, shape: Mapping[str, Any]) -> Points:
    if kind == "polygon":
        points = np.stack([np.asarray(shape[key], np.float64) for key in ("all_points_x", "all_points_y")], axis=1)
        if len(points) < 3:
            raise LabelsError(f"a polygon of {len(points)} points")
        return points
    if kind == "rect":
        x, y = float(shape["x"]), float(shape["y"])
        return rectangle(x, y, x + float(shape["width"]), y + float(shape["height"]))
    if kind not in ("circle", "ellipse"):
        raise LabelsError(f"a {kind} has no area")
    centre = (float(shape["cx"]), float(shape["cy"]))
    if kind == "circle":
        return ellipse(centre, (float(shape["r"]), float(shape["r"])))
    upright = ellipse(centre, (float(shape["rx"]), float(shape["ry"])))
    return rotated(upright, float(shape.get("theta", 0) or 0) % (2 * math.pi), centre)
