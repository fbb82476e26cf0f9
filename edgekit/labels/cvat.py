"""Read CVAT's "CVAT for images" XML: polygons, boxes, ellipses and brush masks."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from xml.etree import ElementTree

import numpy as np

from edgekit.contracts import MaskCrop
from edgekit.errors import LabelsError
from edgekit.labels.collect import Drawn, OddLog, finish, join_groups, ordered_names, picture_name
from edgekit.labels.model import LabelledPicture, LabelSet
from edgekit.labels.outline import Points, ellipse, rectangle, rotated

Element = ElementTree.Element


def read_cvat(path: Path) -> LabelSet:
    """Read an `annotations.xml` of CVAT (format "CVAT for images 1.1").

    Shapes of one label and one `group_id` above 0 are parts of one object. A shape attribute named `ignore` or
    `crowd` with the value true marks it so.

    Raises:
        LabelsError: the file cannot be read, is no such XML, or describes a picture twice.
    """
    try:
        root = ElementTree.parse(path).getroot()
    except OSError as error:
        raise LabelsError(f"cannot read {path}: {error.strerror}") from error
    except ElementTree.ParseError as error:
        raise LabelsError(f"{path} is no XML ({error})", mend="the file may have been cut: export it again") from error
    if root.tag != "annotations":
        raise LabelsError(f"{path} is no CVAT file: its root is <{root.tag}>", mend="export as CVAT for images 1.1")
    if root.find("track") is not None:
        raise LabelsError(f"{path} is CVAT for video", mend="export as CVAT for images 1.1")
    log = OddLog()
    pictures: dict[str, LabelledPicture] = {}
    for image in root.iter("image"):
        picture = _picture(image, log)
        if picture.name in pictures:
            raise LabelsError(f"{path} describes {picture.name} twice", mend="keep one of them")
        pictures[picture.name] = picture
    declared = [label.findtext("name") or "" for label in root.iter("label")]
    used = {item.class_name for picture in pictures.values() for item in picture.instances}
    return LabelSet(tuple(pictures.values()), ordered_names(used, declared), tuple(log.entries), (), str(path))


def _picture(image: Element, log: OddLog) -> LabelledPicture:
    name = picture_name(image.get("name", ""))
    sides = [image.get(key, "") for key in ("width", "height")]
    if not all(side.isdecimal() and int(side) > 0 for side in sides):
        raise LabelsError(f"picture {name!r} has no size in the CVAT file: {' x '.join(sides)}")
    size_wh = (int(sides[0]), int(sides[1]))
    drawn: list[tuple[Drawn, str | None]] = []
    for position, shape in enumerate(image):
        if shape.tag == "tag":
            continue
        item = _drawn(shape, f"{name}#{position}", name, log)
        if item is not None:
            group = shape.get("group_id", "0")
            drawn.append((item, None if group in ("", "0") else group))
    finished = (finish(item, name, size_wh, log) for item in join_groups(drawn, name, log))
    return LabelledPicture(name, size_wh, tuple(item for item in finished if item is not None))


def _drawn(shape: Element, name: str, picture: str, log: OddLog) -> Drawn | None:
    attributes = {item.get("name", ""): item.text or "" for item in shape.iter("attribute")}
    attributes.update({key: shape.get(key, "") for key in ("occluded",) if shape.get(key) is not None})
    reader = _SHAPES.get(shape.tag)
    polygons: tuple[Points, ...] = ()
    masks: tuple[MaskCrop, ...] = ()
    try:
        if shape.tag == "mask":
            masks = (_mask(shape),)
        elif reader is not None:
            polygons = (reader(shape),)
        else:
            raise LabelsError(f"a {shape.tag} has no area")
    except (LabelsError, ValueError, OverflowError) as error:
        reason = error.what if isinstance(error, LabelsError) else f"a {shape.tag} that cannot be read: {error}"
        log.note(name, picture, "refused", reason)
        return None
    return Drawn(
        name, shape.get("label", ""), polygons, masks, shape.tag != "box", attributes.get("ignore") == "true",
        attributes.get("crowd") == "true", MappingProxyType(attributes),
    )  # fmt: skip


def _number(shape: Element, key: str) -> float:
    text = shape.get(key)
    if text is None:
        raise LabelsError(f"a {shape.tag} without {key}")
    return float(text)


def _polygon(shape: Element) -> Points:
    pairs = [pair.split(",") for pair in shape.get("points", "").split(";") if pair]
    points = np.array([[float(x), float(y)] for x, y in pairs], np.float64).reshape(-1, 2)
    if len(points) < 3:
        raise LabelsError(f"a polygon of {len(points)} points")
    return points


def _box(shape: Element) -> Points:
    x0, y0, x1, y1 = (_number(shape, key) for key in ("xtl", "ytl", "xbr", "ybr"))
    turn_rad = math.radians(float(shape.get("rotation", 0)))
    return rotated(rectangle(x0, y0, x1, y1), turn_rad, ((x0 + x1) / 2, (y0 + y1) / 2))


def _ellipse(shape: Element) -> Points:
    x, y, radius_x, radius_y = (_number(shape, key) for key in ("cx", "cy", "rx", "ry"))
    return ellipse((x, y), (radius_x, radius_y), math.radians(float(shape.get("rotation", 0))))


def _mask(shape: Element) -> MaskCrop:
    """Runs of off and on pixels along the rows of the rectangle left, top, width, height."""
    left, top, width, height = (int(_number(shape, key)) for key in ("left", "top", "width", "height"))
    runs = np.array([int(run) for run in shape.get("rle", "").split(",") if run.strip()], np.int64)
    if width <= 0 or height <= 0 or (runs < 0).any() or runs.sum() != width * height:
        raise LabelsError(f"a mask whose runs add up to {int(runs.sum())} in a rectangle of {width} x {height}")
    plane = np.repeat(np.arange(len(runs)) % 2 == 1, runs).reshape(height, width)
    return MaskCrop(plane, left, top)


_SHAPES: dict[str, Callable[[Element], Points]] = {"polygon": _polygon, "box": _box, "ellipse": _ellipse}
