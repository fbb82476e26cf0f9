"""LabelMe, CVAT, VIA and YOLO: each shape type is an object or is refused by its place; round trips keep the area."""

from __future__ import annotations

import base64
import json
import math
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgekit.contracts import MaskCrop
from edgekit.errors import LabelsError
from edgekit.labels import (
    LabelledInstance,
    LabelledPicture,
    LabelSet,
    add_ignore_masks,
    outlines,
    read_cvat,
    read_labelme,
    read_labels,
    read_via,
    read_yolo,
    write_coco,
    write_cvat,
    write_labelme,
    write_via,
    write_yolo,
)
from edgekit.labels.outline import polygons_mask
from edgekit.labels.trace import joined
from edgekit.masks import bounds_xyxy, iou, trim

SIZE = (100, 80)


def shape(label, points, kind="polygon", **more):
    return {"label": label, "points": points, "shape_type": kind, "group_id": None, "flags": {}, **more}


def labelme(folder: Path, shapes, name="a") -> Path:
    path = folder / f"{name}.json"
    data = {"imagePath": f"..\\pictures\\{name}.jpg", "imageWidth": SIZE[0], "imageHeight": SIZE[1], "shapes": shapes}
    path.write_text(json.dumps(data))
    return path


def test_labelme_shapes(tmp_path: Path) -> None:
    square, other = [[10, 10], [20, 10], [20, 20], [10, 20]], [[40, 10], [50, 10], [50, 20], [40, 20]]
    png = cv2.imencode(".png", np.full((5, 6), 255, np.uint8))[1]
    path = labelme(
        tmp_path,
        [
            shape("fruit", square),
            shape("fruit", other),
            shape("leaf", square, group_id=4),
            shape("leaf", other, group_id=4),
            shape("fruit", [[30, 40], [20, 20]], "rectangle"),
            shape("fruit", [[50, 50], [60, 50]], "circle"),
            shape("fruit", [[5, 5]], "point"),
            shape("fruit", [[5, 5], [9, 9]], "line"),
            shape("fruit", [[70, 60], [75, 64]], "mask", mask=base64.b64encode(png).decode()),
            shape("fruit", square, flags={"ignore": True}),
            shape("fruit", [[1, 1], [2, 2]]),
        ],
    )
    labels = read_labelme(path)
    picture = labels.pictures[0]
    assert picture.name == "a.jpg"
    assert [(item.class_name, item.mask.area_px) for item in picture.instances[:4]] == [
        ("fruit", 100),
        ("fruit", 100),
        ("leaf", 200),
        ("fruit", 200),
    ]
    rectangle, circle, mask, ignored = picture.instances[3:]
    assert not rectangle.has_outline
    assert circle.mask.area_px == pytest.approx(math.pi * 100, rel=0.02)
    assert (mask.mask.area_px, mask.mask.x_px, mask.mask.y_px) == (30, 70, 60)
    assert ignored.ignore
    refused = {odd.annotation_id: odd.reason for odd in labels.refused}
    assert refused == {
        "a.json#6": "a point has no area",
        "a.json#7": "a line has no area",
        "a.json#10": "a polygon of 2 points",
    }
    assert labels.class_names == ("fruit", "leaf")


def test_labelme_folder(tmp_path: Path) -> None:
    labelme(tmp_path, [], "a")
    labelme(tmp_path, [], "b")
    (tmp_path / "other.json").write_text("{}")
    labels = read_labels(tmp_path)
    assert [picture.name for picture in labels.pictures] == ["a.jpg", "b.jpg"]
    assert labels.odd[0].action == "refused"
    with pytest.raises(LabelsError, match="no LabelMe file"):
        read_labelme(tmp_path / "other.json")


CVAT = """<?xml version="1.0" encoding="utf-8"?>
<annotations><version>1.1</version>
<meta><task><labels><label><name>fruit</name></label><label><name>leaf</name></label></labels></task></meta>
<image id="0" name="a.jpg" width="100" height="80">
  <polygon label="fruit" points="10,10;20,10;20,20;10,20" occluded="1" z_order="0"/>
  <polygon label="fruit" points="30,10;40,10;40,20;30,20" group_id="3"/>
  <polygon label="fruit" points="50,10;60,10;60,20;50,20" group_id="3"/>
  <box label="fruit" xtl="30" ytl="40" xbr="20" ybr="30"/>
  <box label="fruit" xtl="40" ytl="40" xbr="60" ybr="50" rotation="90"/>
  <ellipse label="fruit" cx="70" cy="60" rx="10" ry="5"/>
  <mask label="leaf" rle="1, 3, 2" left="4" top="5" width="3" height="2">
  <attribute name="ignore">true</attribute></mask>
  <mask label="leaf" rle="1, 3, 3" left="4" top="5" width="3" height="2"/>
  <points label="fruit" points="1,1"/>
  <polygon label="fruit" points="1,x;2,2;3,3"/>
  <tag label="row"/>
</image></annotations>"""


def test_cvat_shapes(tmp_path: Path) -> None:
    path = tmp_path / "annotations.xml"
    path.write_text(CVAT)
    labels = read_labels(path)
    areas = [item.mask.area_px for item in labels.pictures[0].instances]
    assert areas[:4] == [100, 200, 100, 200]
    turned = labels.pictures[0].instances[3]
    assert turned.box_xyxy.tolist() == [45, 35, 55, 55]
    assert areas[4] == pytest.approx(math.pi * 50, rel=0.03)
    assert areas[5] == 3
    assert labels.pictures[0].instances[5].ignore
    assert labels.pictures[0].instances[0].attributes["occluded"] == "1"
    assert [odd.annotation_id for odd in labels.refused] == ["a.jpg#7", "a.jpg#8", "a.jpg#9"]
    assert labels.class_names == ("fruit", "leaf")
    path.write_text(CVAT[:400])
    with pytest.raises(LabelsError, match="no XML"):
        read_cvat(path)


def test_via_shapes(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "a.png"), np.zeros((80, 100), np.uint8))
    polygon = {"name": "polygon", "all_points_x": [10, 20, 20, 10], "all_points_y": [10, 10, 20, 20]}
    shapes = [
        (polygon, {"class": "fruit", "occlusion": "low"}),
        ({"name": "rect", "x": 30, "y": 30, "width": 10, "height": 5}, {"class": "fruit"}),
        ({"name": "circle", "cx": 60, "cy": 40, "r": 10}, {"class": {"leaf": True}}),
        ({"name": "ellipse", "cx": 60, "cy": 40, "rx": 10, "ry": 5, "theta": math.pi / 2}, {"class": "leaf"}),
        ({"name": "point", "cx": 1, "cy": 1}, {"class": "fruit"}),
        (polygon, {}),
        ({"name": "polygon", "all_points_x": [1, 2]}, {"class": "fruit"}),
    ]
    regions = [{"shape_attributes": outline, "region_attributes": attributes} for outline, attributes in shapes]
    entry = {"filename": "a.png", "size": 1, "regions": dict(enumerate(regions))}
    path = tmp_path / "via.json"
    path.write_text(json.dumps({"_via_img_metadata": {"a.png1": entry}}))
    labels = read_via(path, images=tmp_path)
    items = labels.pictures[0].instances
    assert [item.class_name for item in items] == ["fruit", "fruit", "leaf", "leaf"]
    assert items[0].attributes["occlusion"] == "low"
    assert items[3].box_xyxy[3] - items[3].box_xyxy[1] == pytest.approx(20, abs=1)
    assert [odd.annotation_id for odd in labels.refused] == ["a.png#4", "a.png#5", "a.png#6"]
    assert labels.pictures[0].size_wh == SIZE


def test_yolo_rows(tmp_path: Path) -> None:
    images, texts = tmp_path / "images", tmp_path / "labels"
    images.mkdir()
    texts.mkdir()
    cv2.imwrite(str(images / "a.png"), np.zeros((80, 100), np.uint8))
    cv2.imwrite(str(images / "empty.png"), np.zeros((80, 100), np.uint8))
    rows = ["0 .1 .125 .2 .125 .2 .25 .1 .25", "1 .5 .5 .2 .25", "2 .1 .1 .2 .1 .2 .2", "0 .1 .1 .2", "0 a b", ""]
    rows.append("0 10 12 20 12 20 30")
    (texts / "a.txt").write_text("\n".join(rows))
    (texts / "stray.txt").write_text("")
    labels = read_yolo(texts, images=images, class_names=("fruit", "leaf"))
    items = labels.pictures[0].instances
    assert [item.mask.area_px for item in items] == [100, 400]
    assert [item.has_outline for item in items] == [True, False]
    assert len(labels.pictures[1].instances) == 0
    assert [odd.annotation_id for odd in labels.refused] == ["a.txt#3", "a.txt#4", "a.txt#5", "a.txt#7", "*"]
    with pytest.raises(LabelsError, match="class names"):
        read_labels(texts, images=images)


def split_ring_picture() -> LabelSet:
    """A ring, a fruit that a branch splits in two, and a ring whose hole holds an island."""
    y, x = np.mgrid[: SIZE[1], : SIZE[0]]
    radius = np.hypot(x - 25, y - 40)
    ring = (radius < 20) & (radius > 10)
    split = (np.hypot(x - 70, y - 40) < 20) & (abs(x - 70) > 3)
    island = ring | (radius < 5)
    items = []
    for number, full in enumerate((ring, split, island), 1):
        mask = trim(MaskCrop(full, 0, 0))
        items.append(
            LabelledInstance(str(number), "fruit", mask, bounds_xyxy(mask).astype(float), area_px=float(mask.area_px))
        )
    return LabelSet((LabelledPicture("a.png", SIZE, tuple(items)),), ("fruit",))


@pytest.mark.parametrize("form", ["coco", "coco_polygon", "labelme", "cvat", "cvat_mask", "via", "yolo"])
@pytest.mark.parametrize("tolerance_px", [0.0, 0.8])
def test_round_trip_keeps_parts_and_holes(tmp_path: Path, form: str, tolerance_px: float) -> None:
    labels = split_ring_picture()
    cv2.imwrite(str(tmp_path / "a.png"), np.zeros((80, 100), np.uint8))
    texts = tmp_path / "texts"
    texts.mkdir()
    target = texts / ("labels.xml" if "cvat" in form else "labels.json")
    match form:
        case "coco":
            write_coco(labels, target)
        case "coco_polygon":
            write_coco(labels, target, outline="polygon", tolerance_px=tolerance_px)
        case "labelme":
            write_labelme(labels, texts, images=tmp_path, tolerance_px=tolerance_px)
        case "cvat":
            write_cvat(labels, target, tolerance_px=tolerance_px)
        case "cvat_mask":
            write_cvat(labels, target, outline="mask")
        case "via":
            write_via(labels, target, images=tmp_path, tolerance_px=tolerance_px)
        case "yolo":
            write_yolo(labels, texts, tolerance_px=tolerance_px)
    source = texts if form in ("labelme", "yolo") else target
    again = read_labels(source, images=tmp_path, class_names=("fruit",))
    assert not again.refused
    assert [picture.name for picture in again.pictures] == ["a.png"]
    for before, after in zip(labels.pictures[0].instances, again.pictures[0].instances, strict=True):
        assert after.class_name == "fruit"
        if tolerance_px and form not in ("coco", "cvat_mask"):
            assert after.mask.area_px == pytest.approx(before.mask.area_px, rel=0.05)
            assert iou(before.mask, after.mask) > 0.9
        else:
            assert iou(before.mask, after.mask) == 1


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 12), st.floats(0.1, 0.9))
@settings(max_examples=200, deadline=None)
def test_outlines_rasterise_to_the_same_mask(seed: int, height: int, width: int, density: float) -> None:
    plane = np.random.default_rng(seed).random((height, width)) < density
    mask = trim(MaskCrop(plane, 3, 2))
    polygons = outlines(mask)
    if not plane.any():
        assert polygons == []
        return
    for form in (polygons, [joined(polygons)]):
        again, _ = polygons_mask(form, (20, 20))
        assert (again.x_px, again.y_px) == (mask.x_px, mask.y_px)
        assert np.array_equal(again.plane, mask.plane)


def test_yolo_cannot_say_crowd(tmp_path: Path) -> None:
    labels = split_ring_picture().with_ignored_classes(["fruit"])
    with pytest.raises(LabelsError, match="crowd or ignore"):
        write_yolo(labels, tmp_path)


def test_ignored_regions_from_mask_pictures(tmp_path: Path) -> None:
    labels = split_ring_picture()
    plane = np.zeros((SIZE[1], SIZE[0]), np.uint8)
    plane[:20, 50:] = 255
    cv2.imwrite(str(tmp_path / "a.png"), plane)
    region = add_ignore_masks(labels, tmp_path).pictures[0].instances[-1]
    assert region.ignore
    assert region.is_crowd
    assert region.mask.area_px == 20 * 50
    cv2.imwrite(str(tmp_path / "a.png"), plane[:10])
    with pytest.raises(LabelsError, match="no picture of 100 x 80"):
        add_ignore_masks(labels, tmp_path)
    with pytest.raises(LabelsError, match="no mask in"):
        add_ignore_masks(labels, tmp_path / "elsewhere")


def test_files_of_another_structure_are_refused_or_told(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"shapes": 3, "imageWidth": 9, "imageHeight": 9}))
    with pytest.raises(LabelsError, match="no list of objects"):
        read_labelme(path)
    triangle = {"label": "fruit", "points": [[1, 1], [8, 1], [8, 8]], "flags": ["crowd"]}
    path.write_text(json.dumps({"shapes": [triangle], "imageWidth": 9, "imageHeight": 9}))
    assert read_labelme(path).instance_count == 1
    path = tmp_path / "a.xml"
    path.write_text("<annotations><image name='a.png' width='wide' height='9'/></annotations>")
    with pytest.raises(LabelsError, match="has no size in the CVAT file: wide x 9"):
        read_cvat(path)
    cv2.imwrite(str(tmp_path / "a.png"), np.zeros((9, 9, 3), np.uint8))
    (tmp_path / "a.txt").write_bytes(b"0 0.1 0.1 0.9 0.1 0.9 0.9\n\xff\xfe\n")
    labels = read_yolo(tmp_path, images=tmp_path, class_names=("fruit",))
    assert labels.instance_count == 1
    assert "no list of numbers" in labels.refused[0].reason
