"""Read LabelMe files: one JSON a picture, a list of shapes."""

from __future__ import annotations

import base64
import binascii
import contextlib
import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from edgekit.contracts import MaskCrop
from edgekit.errors import LabelsError
from edgekit.labels.coco import objects_of, read_json
from edgekit.labels.collect import Drawn, OddLog, finish, join_groups, ordered_names, picture_name, picture_size
from edgekit.labels.model import LabelledPicture, LabelSet
from edgekit.labels.outline import Points, ellipse, rectangle

NO_AREA = frozenset({"point", "points", "line", "linestrip"})
"""Shape types without an area: they are no objects."""


def read_labelme(path: Path, *, images: Path | None = None, class_names: tuple[str, ...] = ()) -> LabelSet:
    """Read a LabelMe file, or every LabelMe file under a folder.

    One shape is one object; shapes of one label and one `group_id` are parts of one object. The flags `ignore` and
    `crowd` of a shape are read.

    Args:
        path: a JSON file or a folder of them.
        images: folder of the pictures; needed only where a file lacks the size. Default: where the JSON lies.
        class_names: order of the classes; LabelMe has none, so without it they are sorted by name.

    Raises:
        LabelsError: no LabelMe file there, a file that is cut, or two files of one picture.
    """
    files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
    log = OddLog()
    pictures: dict[str, LabelledPicture] = {}
    for file in files:
        data = read_json(file)
        if not isinstance(data, dict) or "shapes" not in data:
            log.note_file("refused", f"{file.name} is no LabelMe file: it has no shapes")
            continue
        picture = _picture(data, file, images, log)
        if picture.name in pictures:
            raise LabelsError(f"two LabelMe files in {path} describe {picture.name}", mend="keep one of them")
        pictures[picture.name] = picture
    if not pictures:
        raise LabelsError(f"no LabelMe file in {path}")
    used = {item.class_name for picture in pictures.values() for item in picture.instances}
    return LabelSet(tuple(pictures.values()), ordered_names(used, class_names), tuple(log.entries), (), str(path))


def _picture(data: Mapping[str, Any], file: Path, images: Path | None, log: OddLog) -> LabelledPicture:
    name = _name(str(data.get("imagePath") or file.with_suffix(".jpg").name), file, images)
    size = (data.get("imageWidth"), data.get("imageHeight"))
    if not all(isinstance(side, int) and side > 0 for side in size):
        size = picture_size((images or file.parent) / name)
    size_wh = (int(size[0] or 0), int(size[1] or 0))
    drawn: list[tuple[Drawn, str | None]] = []
    for position, shape in enumerate(objects_of(data["shapes"], f"shapes of {file}")):
        item = _drawn(shape, f"{file.name}#{position}", name, log)
        if item is not None:
            group = shape.get("group_id")
            drawn.append((item, None if group is None else str(group)))
    finished = (finish(item, name, size_wh, log) for item in join_groups(drawn, name, log))
    return LabelledPicture(name, size_wh, tuple(item for item in finished if item is not None))


def _name(written: str, file: Path, images: Path | None) -> str:
    """`imagePath` is relative to the JSON file; a name is relative to the folder of pictures, if it lies there."""
    relative = picture_name(written)
    if images is not None:
        with contextlib.suppress(ValueError):
            return (file.parent / relative).resolve().relative_to(images.resolve()).as_posix()
    return Path(relative).name


def _drawn(shape: Mapping[str, Any], name: str, picture: str, log: OddLog) -> Drawn | None:
    kind = str(shape.get("shape_type") or "polygon")
    if kind in NO_AREA:
        log.note(name, picture, "refused", f"a {kind} has no area")
        return None
    written = shape.get("flags")
    flags = written if isinstance(written, dict) else {}
    try:
        points = _points(shape)
        polygons, masks = ((), (_mask(shape, points),)) if kind == "mask" else ((_outline(kind, points),), ())
    except LabelsError as error:
        log.note(name, picture, "refused", error.what)
        return None
    described = {"description": str(shape["description"])} if shape.get("description") else {}
    attributes = MappingProxyType({**{str(key): str(value) for key, value in flags.items()}, **described})
    return Drawn(
        name, str(shape.get("label")), polygons, masks, kind != "rectangle", bool(flags.get("ignore")),
        bool(flags.get("crowd")), attributes,
    )  # fmt: skip


def _points(shape: Mapping[str, Any]) -> Points:
    try:
        points = np.asarray(shape.get("points"), np.float64)
    except (TypeError, ValueError):
        points = np.zeros(0)
    if points.ndim != 2 or points.shape[1] != 2 or not np.isfinite(points).all():
        raise LabelsError("points that are no list of x, y pairs")
    return points


def _outline(kind: str, points: Points) -> Points:
    needed = {"polygon": 3, "rectangle": 2, "circle": 2}.get(kind)
    if needed is None:
        raise LabelsError(f"shape type {kind!r} is not known")
    if len(points) < needed:
        raise LabelsError(f"a {kind} of {len(points)} points")
    if kind == "polygon":
        return points
    if kind == "rectangle":  # 2 opposite corners in any order; some releases wrote all 4
        low, high = points.min(axis=0), points.max(axis=0)
        return rectangle(low[0], low[1], high[0], high[1])
    radius = math.dist(points[0], points[1])
    return ellipse((float(points[0, 0]), float(points[0, 1])), (radius, radius))


def _mask(shape: Mapping[str, Any], points: Points) -> MaskCrop:
    """A mask shape: a PNG in base64 whose top left corner is the first point."""
    import cv2

    try:
        data = np.frombuffer(base64.b64decode(shape.get("mask") or "", validate=True), np.uint8)
    except (binascii.Error, TypeError, ValueError):
        raise LabelsError("a mask that is no base64 text") from None
    plane = cv2.imdecode(data, cv2.IMREAD_GRAYSCALE) if len(data) else None
    if plane is None or not len(points):
        raise LabelsError("a mask without a picture or a place")
    return MaskCrop(plane > 0, round(float(points[:, 0].min())), round(float(points[:, 1].min())))
