"""Label files that somebody edited by hand, any value of another type: read, told as odd, or refused in one line."""

from __future__ import annotations

import contextlib
import json

import cv2
import numpy as np
import pytest

from edgekit.errors import LabelsError
from edgekit.labels import read_labels
from tests.damage import edited

RLE = {"size": [64, 64], "counts": [10, 5, 4081]}
COCO = {
    "images": [{"id": 1, "file_name": "a.png", "width": 64, "height": 64}],
    "categories": [{"id": 1, "name": "fruit"}],
    "annotations": [
        {"id": 1, "image_id": 1, "category_id": 1, "segmentation": [[1, 1, 20, 1, 20, 20]], "bbox": [1, 1, 19, 19],
         "area": 180, "iscrowd": 0},
        {"id": 2, "image_id": 1, "category_id": 1, "segmentation": RLE, "iscrowd": 1, "attributes": {"hidden": 0.5}},
    ],
}  # fmt: skip
LABELME = {
    "version": "5", "flags": {}, "imagePath": "a.png", "imageData": None, "imageHeight": 64, "imageWidth": 64,
    "shapes": [
        {"label": "fruit", "points": [[1, 1], [20, 1], [20, 20]], "group_id": None, "shape_type": "polygon"},
        {"label": "fruit", "points": [[1, 1], [20, 20]], "group_id": 3, "shape_type": "rectangle", "flags": {}},
    ],
}  # fmt: skip
POLYGON = {"name": "polygon", "all_points_x": [1, 20, 20], "all_points_y": [1, 1, 20]}
VIA = {"a.png1": {"filename": "a.png", "size": 1, "file_attributes": {}, "regions": [
    {"shape_attributes": POLYGON, "region_attributes": {"class": "fruit"}},
    {"shape_attributes": {"name": "circle", "cx": 9, "cy": 9, "r": 5}, "region_attributes": {"class": {"fruit": True}}},
]}}  # fmt: skip
RESULTS = [{"image_id": 1, "category_id": 1, "score": 0.5, "segmentation": RLE, "bbox": [1, 1, 5, 5]}]


@pytest.fixture
def folder(tmp_path):
    cv2.imwrite(str(tmp_path / "a.png"), np.zeros((64, 64, 3), np.uint8))
    (tmp_path / "labels").mkdir()
    return tmp_path


@pytest.mark.parametrize("whole", [COCO, LABELME, VIA], ids=["coco", "labelme", "via"])
def test_edited_labels_never_end_in_a_trace(folder, whole):
    path = folder / "labels" / "a.json"
    source = path.parent if whole is LABELME else path
    path.write_text(json.dumps(whole))
    assert read_labels(source, images=folder).instance_count == 2
    for _, wrong in edited(whole):
        path.write_text(json.dumps(wrong))
        with contextlib.suppress(LabelsError):
            read_labels(source, images=folder)


def test_edited_results_never_end_in_a_trace(folder):
    from edgekit.bench.accuracy.results_file import read_results

    path = folder / "labels" / "a.json"
    path.write_text(json.dumps(COCO))
    labels = read_labels(path, images=folder)
    path.write_text(json.dumps(RESULTS))
    assert len(read_results(path, labels, ignore_classes=())[1]) == 1
    for _, wrong in edited(RESULTS):
        path.write_text(json.dumps(wrong))
        with contextlib.suppress(LabelsError):
            read_results(path, labels, ignore_classes=())
