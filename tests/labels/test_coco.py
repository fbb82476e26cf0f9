"""Every odd annotation of a COCO file is kept, mended or refused by its id."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO

from edgekit.contracts import Instances, MaskCrop
from edgekit.errors import LabelsError
from edgekit.labels import (
    LabelSet,
    coco_dict,
    match_classes,
    parse_class_map,
    parse_coco,
    picture_from_instances,
    read_coco,
    write_coco,
)

SQUARE = [10.0, 10, 30, 10, 30, 30, 10, 30]


def coco_file(annotations, categories=((1, "fruit"),), size=(100, 80)):
    return {
        "images": [{"id": 7, "file_name": "a\\b.jpg", "width": size[0], "height": size[1]}],
        "categories": [{"id": number, "name": name} for number, name in categories],
        "annotations": [
            {"id": index, "image_id": 7, "category_id": 1, "iscrowd": 0, **entry}
            for index, entry in enumerate(annotations, 1)
        ],
    }


def parsed(annotations, **more) -> LabelSet:
    return parse_coco(coco_file(annotations, **more), source="test.json")


def outcome(labels: LabelSet, annotation_id: int) -> list[tuple[str, str]]:
    return [(odd.action, odd.reason) for odd in labels.odd if odd.annotation_id == str(annotation_id)]


def plane(mask: MaskCrop, size_wh=(100, 80)):
    full = np.zeros((size_wh[1], size_wh[0]), bool)
    h, w = mask.plane.shape
    full[mask.y_px : mask.y_px + h, mask.x_px : mask.x_px + w] = mask.plane
    return full


REFUSED = {
    "four numbers": ([[10, 10, 20, 20]], "at least three points"),
    "odd count": ([[10, 10, 20, 20, 30, 30, 5]], "pairs"),
    "no area": ([[10, 10, 20, 10, 30, 10]], "without a pixel"),
    "wholly negative": ([[-50, -50, -10, -50, -10, -10]], "wholly outside"),
    "huge": ([[0, 0, 1e9, 0, 1e9, 1e9]], "far outside"),
    "not finite": ([[0, 0, float("nan"), 0, 9, 9]], "finite"),
    "text": ([["a", "b", "c", "d", "e", "f"]], "list of numbers"),
    "flat and short": ([10, 10, 20, 20], "at least three points"),
    "rle of another size": ({"size": [10, 10], "counts": [100]}, "picture of 100 x 80"),
    "rle that does not add up": ({"size": [80, 100], "counts": [1, 2]}, "add up"),
    "cut rle": ({"size": [80, 100], "counts": "0o"}, ""),
    "empty": ([], "neither an outline nor a box"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_id_and_reason(case: str) -> None:
    outline, reason = REFUSED[case]
    labels = parsed([{"segmentation": [SQUARE]}, {"segmentation": outline}, {"segmentation": [SQUARE]}])
    assert [item.id for item in labels.pictures[0].instances] == ["1", "3"]
    ((action, told),) = outcome(labels, 2)
    assert action == "refused"
    assert reason in told


def test_all_bad_outlines_in_one_file() -> None:
    labels = parsed([{"segmentation": outline} for outline, _ in REFUSED.values()])
    assert labels.instance_count == 0
    assert len(labels.refused) == len(REFUSED)


def test_unknown_picture_and_class_are_refused() -> None:
    labels = parsed([{"segmentation": [SQUARE], "image_id": 8}, {"segmentation": [SQUARE], "category_id": 9}])
    assert [odd.annotation_id for odd in labels.refused] == ["1", "2"]


def test_flat_list_is_one_polygon() -> None:
    labels = parsed([{"segmentation": SQUARE}])
    assert labels.pictures[0].instances[0].mask.area_px == 400
    assert outcome(labels, 1)[0][0] == "mended"


def test_partly_outside_is_clipped_and_told() -> None:
    labels = parsed([{"segmentation": [[-20, -20, 10, -20, 10, 10, -20, 10]]}])
    assert labels.pictures[0].instances[0].mask.area_px == 100
    assert outcome(labels, 1) == [("mended", "partly outside the picture: clipped")]


def test_lost_part_is_told() -> None:
    labels = parsed([{"segmentation": [SQUARE, [-9, -9, -5, -9, -5, -5]]}])
    assert outcome(labels, 1)[0] == ("mended", "1 of 2 parts have no pixel: left out")


def test_crowd_ignore_and_missing_key() -> None:
    data = coco_file([{"segmentation": [SQUARE], "iscrowd": 1}, {"segmentation": [SQUARE], "ignore": 1}])
    data["annotations"].append({"id": 3, "image_id": 7, "category_id": 1, "segmentation": [SQUARE]})
    labels = parse_coco(data, source="test.json")
    first, second, third = labels.pictures[0].instances
    assert first.is_crowd
    assert not second.is_crowd
    assert second.ignore
    assert not third.is_crowd
    told = [odd.reason for odd in labels.odd if odd.annotation_id == "*"]
    assert any("1 annotations have no iscrowd" in text for text in told)
    assert any("1 of 3 annotations (33 %) are crowds" in text for text in told)


def test_duplicate_ids_are_renumbered() -> None:
    labels = parsed([{"segmentation": [SQUARE], "id": 5}, {"segmentation": [SQUARE], "id": 5}])
    assert len({item.id for item in labels.pictures[0].instances}) == 2
    assert outcome(labels, 5)[0][0] == "mended"


def test_box_without_outline_and_bad_box() -> None:
    labels = parsed([{"bbox": [10, 10, 20, 5]}, {"segmentation": [SQUARE], "bbox": [0, 0, -1, 0]}])
    box, outlined = labels.pictures[0].instances
    assert not box.has_outline
    assert box.mask.area_px == 100
    assert outlined.box_xyxy.tolist() == [10, 10, 30, 30]
    assert outcome(labels, 2)[0][0] == "mended"


def test_area_is_the_masks_not_the_boxes() -> None:
    """A thin diagonal: its box is large, its area is not."""
    labels = parsed([{"segmentation": [[0, 0, 2, 0, 60, 58, 60, 60, 58, 60, 0, 2]]}])
    item = labels.pictures[0].instances[0]
    assert item.area_px == item.mask.area_px < 500


def test_parts_holes_and_rle_keep_their_area() -> None:
    ring = np.zeros((80, 100), np.uint8)
    ring[20:60, 20:60] = 1
    ring[30:50, 30:50] = 0
    rle = coco_mask.encode(np.asfortranarray(ring))
    discs = [SQUARE, [50.0, 10, 70, 10, 70, 30, 50, 30]]
    labels = parsed([{"segmentation": discs}, {"segmentation": {**rle, "counts": rle["counts"].decode()}}])
    split, hole = labels.pictures[0].instances
    assert split.mask.area_px == 800
    assert np.array_equal(plane(hole.mask), ring.astype(bool))


@pytest.mark.shared
def test_equal_to_pycocotools_on_real_labels(shared: Path) -> None:
    path = shared / "data" / "coco_val100" / "instances_val2014_100.json"
    peer, labels = COCO(str(path)), read_coco(path)
    assert labels.instance_count == len(peer.anns)
    for picture in labels.pictures:
        for item in picture.instances:
            assert np.array_equal(plane(item.mask, picture.size_wh), peer.annToMask(peer.anns[int(item.id)]) > 0)


@pytest.mark.shared
def test_writing_and_reading_keeps_everything(shared: Path, tmp_path: Path) -> None:
    labels = read_coco(shared / "data" / "coco_val100" / "instances_val2014_100.json")
    write_coco(labels, tmp_path / "again.json")
    again = read_coco(tmp_path / "again.json")
    assert again.class_ids == labels.class_ids
    for before, after in zip(labels.pictures, again.pictures, strict=True):
        for a, b in zip(before.instances, after.instances, strict=True):
            assert (a.id, a.class_name, a.is_crowd, a.area_px) == (b.id, b.class_name, b.is_crowd, b.area_px)
            assert np.array_equal(plane(a.mask, before.size_wh), plane(b.mask, before.size_wh))
            assert np.array_equal(a.box_xyxy, b.box_xyxy)


def test_plain_types_and_no_rounding() -> None:
    box = np.array([[1.23456789, 2.3456789, 33.1, 40.7]], np.float32)
    found = Instances(
        box, np.array([0.987654321], np.float32), np.zeros(1, np.int32), (MaskCrop(np.ones((38, 32), np.bool_), 1, 2),)
    )
    picture = picture_from_instances("a.jpg", (100, 80), found, ("fruit",))
    data = json.loads(json.dumps(coco_dict(LabelSet((picture,), ("fruit",)))))
    again = parse_coco(data, source="x").pictures[0].instances[0]
    assert np.array_equal(again.box_xyxy, box[0])
    assert data["annotations"][0]["score"] == float(np.float32(0.987654321))
    assert isinstance(data["annotations"][0]["segmentation"]["counts"], str)


def test_classes_by_name() -> None:
    labels = parsed(
        [{"segmentation": [SQUARE], "category_id": 7}, {"segmentation": [SQUARE], "category_id": 3}],
        categories=((7, "green"), (0, "objects"), (3, "red")),
    )
    assert labels.class_names == ("objects", "red", "green")
    assert labels.used_class_names == ("red", "green")
    assert match_classes(labels, ("green", "red")) == {"red": 1, "green": 0}
    assert match_classes(labels, ("fruit",), parse_class_map("*=fruit")) == {"red": 0, "green": 0}
    assert match_classes(labels, ("fruit",), parse_class_map("*=*")) == {"red": 0, "green": 0}
    with pytest.raises(LabelsError, match="'\\*' is not one"):
        match_classes(labels, ("fruit", "leaf"), parse_class_map("*=*"))
    with pytest.raises(LabelsError, match="'red' is not one of the model's"):
        match_classes(labels, ("green",))
    with pytest.raises(LabelsError, match="label=model"):
        parse_class_map("red")


def test_a_class_map_names_classes_that_are_there() -> None:
    labels = parsed([{"segmentation": [SQUARE], "category_id": 7}], categories=((7, "green"), (3, "red")))
    assert match_classes(labels, ("fruit",), parse_class_map("red=fruit,green=fruit")) == {"green": 0}
    for text, told in (("gren=fruit,*=fruit", "'gren', but the labels have green, red - did you mean 'green'"),
                       ("red=fruits,*=fruit", "'fruits', but the model has fruit - did you mean 'fruit'")):  # fmt: skip
        with pytest.raises(LabelsError, match=told):
            match_classes(labels, ("fruit",), parse_class_map(text))
    with pytest.raises(LabelsError, match="red is mapped twice"):
        parse_class_map("red=fruit,red=leaf")


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"images": []}'])
def test_cut_or_foreign_files(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cut.json"
    path.write_text(text)
    with pytest.raises(LabelsError):
        read_coco(path)


def test_two_pictures_of_one_name() -> None:
    data = coco_file([])
    data["images"] *= 2
    with pytest.raises(LabelsError, match="twice"):
        parse_coco(data, source="x")


def test_ignored_class() -> None:
    labels = parsed([{"segmentation": [SQUARE]}])
    assert labels.with_ignored_classes(["fruit"]).pictures[0].instances[0].ignore
    with pytest.raises(LabelsError, match="no class leaf"):
        labels.with_ignored_classes(["leaf"])


WHOLE = {
    "images": [{"id": 1, "file_name": "a.png", "width": 9, "height": 9}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 4, 4]}],
    "categories": [{"id": 1, "name": "fruit"}],
}


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("annotations", 3, "annotations of x: no list of objects"),
        ("annotations", [7], "annotations of x: no list of objects"),
        ("images", {"id": 1}, "images of x: no list of objects"),
        ("images", [{"id": [1], "file_name": "a.png"}], "a picture without id or file_name"),
        ("images", [{"id": 1, "file_name": 5}], "a picture without id or file_name"),
        ("categories", [{"name": "fruit"}], "a category without a number id or a name"),
        ("categories", [{"id": "one", "name": "fruit"}], "a category without a number id or a name"),
    ],
)
def test_files_of_another_structure_are_refused(key, value, told) -> None:
    with pytest.raises(LabelsError, match=told):
        parse_coco({**WHOLE, key: value}, source="x")


@pytest.mark.parametrize(
    "changes", [{"image_id": {}}, {"category_id": [1]}, {"iscrowd": [1]}, {"segmentation": {"size": 9}}]
)
def test_annotations_of_another_structure_are_told_by_id(changes) -> None:
    labels = parse_coco({**WHOLE, "annotations": [{**WHOLE["annotations"][0], **changes}]}, source="x")
    assert labels.odd
    assert {odd.annotation_id for odd in labels.odd} <= {"1", "*"}


def test_brackets_without_end_are_no_json(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(LabelsError, match="is no JSON"):
        read_coco(tmp_path / "deep.json")
