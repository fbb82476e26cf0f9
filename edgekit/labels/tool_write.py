"""Write labels for the tools in which people correct them: LabelMe, CVAT, VIA, and YOLO-seg for training."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from xml.etree import ElementTree

import numpy as np

from edgekit.atomic import make_folder, write_atomic
from edgekit.errors import LabelsError
from edgekit.labels.model import LabelledInstance, LabelledPicture, LabelSet
from edgekit.labels.outline import Points
from edgekit.labels.trace import joined, outlines

EDIT_TOLERANCE_PX = 0.8
"""Outlines for people: about one point every 5 to 10 px of outline, area kept to 1 % on fruit of 20 px and more."""


def write_labelme(
    labels: LabelSet, folder: Path, *, images: Path | None = None, tolerance_px: float = EDIT_TOLERANCE_PX
) -> None:
    """Write one LabelMe file a picture into `folder`, laid out as the pictures are.

    The parts of a split object share a `group_id`; LabelMe has no holes, so they are tied to the outline by a slit.

    Args:
        labels: pictures and objects.
        folder: where the JSON files go.
        images: folder of the pictures. Default: `folder` itself.
        tolerance_px: see `edgekit.labels.outlines`.

    Raises:
        StorageError: a file cannot be written.
    """
    for picture in labels.pictures:
        target = folder / PurePosixPath(picture.name).with_suffix(".json")
        make_folder(target.parent)
        shapes = [
            shape
            for number, item in enumerate(picture.instances, 1)
            for shape in _labelme_shapes(item, number, tolerance_px)
        ]
        data: dict[str, Any] = {
            "version": "5.5.0", "flags": {}, "shapes": shapes,
            "imagePath": PurePosixPath(os.path.relpath((images or folder) / picture.name, target.parent)).as_posix(),
            "imageData": None, "imageHeight": picture.size_wh[1], "imageWidth": picture.size_wh[0],
        }  # fmt: skip
        write_atomic(target, json.dumps(data, indent=1).encode())


def _labelme_shapes(item: LabelledInstance, number: int, tolerance_px: float) -> Iterator[dict[str, Any]]:
    parts = _parts(item, tolerance_px)
    flags = {key: True for key, on in (("ignore", item.ignore), ("crowd", item.is_crowd)) if on}
    for points in parts:
        yield {
            "label": item.class_name, "points": points.tolist(), "group_id": number if len(parts) > 1 else None,
            "description": "" if item.score is None else f"score {item.score:.4f}", "shape_type": "polygon",
            "flags": flags,
        }  # fmt: skip


def write_cvat(
    labels: LabelSet,
    path: Path,
    *,
    outline: Literal["polygon", "mask"] = "polygon",
    tolerance_px: float = EDIT_TOLERANCE_PX,
) -> None:
    """Write one file of the format "CVAT for images 1.1".

    Args:
        labels: pictures and objects.
        path: the XML file to write.
        outline: `polygon` for dragging points, `mask` for the brush (pixel for pixel).
        tolerance_px: see `edgekit.labels.outlines`; only for polygons.

    Raises:
        StorageError: the file cannot be written.
    """
    root = ElementTree.Element("annotations")
    ElementTree.SubElement(root, "version").text = "1.1"
    declared = ElementTree.SubElement(ElementTree.SubElement(ElementTree.SubElement(root, "meta"), "task"), "labels")
    for name in labels.class_names:
        ElementTree.SubElement(ElementTree.SubElement(declared, "label"), "name").text = name
    for number, picture in enumerate(labels.pictures):
        width, height = picture.size_wh
        image = ElementTree.SubElement(root, "image", {
            "id": str(number), "name": picture.name, "width": str(width), "height": str(height),
        })  # fmt: skip
        for position, item in enumerate(picture.instances, 1):
            _cvat_shapes(image, item, position, None if outline == "mask" else tolerance_px)
    ElementTree.indent(root)
    write_atomic(path, ElementTree.tostring(root, "utf-8", xml_declaration=True))


def _cvat_shapes(image: ElementTree.Element, item: LabelledInstance, number: int, tolerance_px: float | None) -> None:
    common = {"label": item.class_name, "source": "manual" if item.score is None else "auto",
              "occluded": item.attributes.get("occluded", "0"), "z_order": "0"}  # fmt: skip
    shapes: list[ElementTree.Element] = []
    if tolerance_px is None:
        shapes.append(ElementTree.SubElement(image, "mask", {**common, **_cvat_runs(item)}))
    else:
        parts = _parts(item, tolerance_px)
        group = {"group_id": str(number)} if len(parts) > 1 else {}
        for points in parts:
            text = ";".join(f"{x:.2f},{y:.2f}" for x, y in points)
            shapes.append(ElementTree.SubElement(image, "polygon", {**common, **group, "points": text}))
    marks = {"ignore": "true" if item.ignore else "", "crowd": "true" if item.is_crowd else "",
             "score": "" if item.score is None else f"{item.score:.4f}"}  # fmt: skip
    for shape in shapes:
        for key, value in marks.items():
            if value:
                ElementTree.SubElement(shape, "attribute", {"name": key}).text = value


def _cvat_runs(item: LabelledInstance) -> dict[str, str]:
    plane = item.mask.plane
    flat = np.concatenate([[False], plane.ravel(), [not plane.ravel()[-1]]])
    ends = np.flatnonzero(flat[1:] != flat[:-1])
    runs = np.diff(ends, prepend=0).tolist()
    height, width = plane.shape
    return {"rle": ", ".join(str(run) for run in runs), "left": str(item.mask.x_px), "top": str(item.mask.y_px),
            "width": str(width), "height": str(height)}  # fmt: skip


def write_yolo(labels: LabelSet, folder: Path, *, tolerance_px: float = 0.0) -> None:
    """Write one YOLO-seg text file a picture into `folder`, laid out as the pictures are.

    The format has one outline an object: parts and holes are tied together by slits without width. It has no crowds
    and no ignored objects: they are refused, because as plain objects they would teach a model wrong things.

    Raises:
        LabelsError: a crowd or an ignored object.
        StorageError: a file cannot be written.
    """
    number = {name: index for index, name in enumerate(labels.class_names)}
    for picture in labels.pictures:
        marked = [item.id for item in picture.instances if item.is_crowd or item.ignore]
        if marked:
            raise LabelsError(f"YOLO labels cannot say crowd or ignore ({picture.name}: {', '.join(marked[:3])})",
                              mend="leave these objects out first")  # fmt: skip
        rows = [
            f"{number[item.class_name]} " + " ".join(f"{value:.6f}" for value in (points / picture.size_wh).ravel())
            for item in picture.instances
            for points in _one_outline(item, tolerance_px)
        ]
        target = folder / PurePosixPath(picture.name).with_suffix(".txt")
        make_folder(target.parent)
        write_atomic(target, "".join(f"{row}\n" for row in rows).encode())


def write_via(labels: LabelSet, path: Path, *, images: Path, tolerance_px: float = EDIT_TOLERANCE_PX) -> None:
    """Write an annotation file of VIA 2; the class goes into the region attribute `class`.

    Args:
        labels: pictures and objects.
        path: the JSON file to write.
        images: folder of the pictures: VIA knows a picture by its name and its size in bytes.
        tolerance_px: see `edgekit.labels.outlines`.

    Raises:
        StorageError: the file cannot be written.
    """
    data = dict(_via_entry(picture, images, tolerance_px) for picture in labels.pictures)
    write_atomic(path, json.dumps(data, indent=1).encode())


def _via_entry(picture: LabelledPicture, images: Path, tolerance_px: float) -> tuple[str, dict[str, Any]]:
    file = images / picture.name
    size = file.stat().st_size if file.is_file() else -1
    regions = [
        {
            "shape_attributes": {
                "name": "polygon", "all_points_x": points[:, 0].tolist(), "all_points_y": points[:, 1].tolist(),
            },
            "region_attributes": {"class": item.class_name},
        }
        for item in picture.instances
        for points in _one_outline(item, tolerance_px)
    ]  # fmt: skip
    return f"{picture.name}{size}", {"filename": picture.name, "size": size, "regions": regions, "file_attributes": {}}


def _parts(item: LabelledInstance, tolerance_px: float) -> list[Points]:
    """Outlines within the tolerance; exact where nothing would be left of a small object."""
    return outlines(item.mask, tolerance_px=tolerance_px) or outlines(item.mask)


def _one_outline(item: LabelledInstance, tolerance_px: float) -> list[Points]:
    parts = _parts(item, tolerance_px)
    return [joined(parts)] if parts else []
