"""Mask AP of a reduced graph beside that of float32, on labels."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from edgekit.contracts import Instances, MaskCrop, TileResult
from edgekit.errors import ExportError, LabelsError
from edgekit.labels import LabelledInstance, LabelledPicture, LabelSet

pytest.importorskip("onnx")
from edgekit.export import label_check
from edgekit.export.label_check import LabelReport, MaskAp, mask_ap, predict, read_for
from edgekit.export.parity import Limits
from edgekit.export.refused import RefusedError

SIDE_PX = 20
PLACES = ((10, 10), (60, 10), (10, 60), (60, 60))


def square(x: int, y: int, side_px: int = SIDE_PX) -> MaskCrop:
    return MaskCrop(np.ones((side_px, side_px), np.bool_), x, y)


def labels(*names: str) -> LabelSet:
    items = tuple(
        LabelledInstance(
            str(index + 1),
            names[index % len(names)],
            square(x, y),
            np.array([x, y, x + SIDE_PX, y + SIDE_PX], np.float64),
            area_px=SIDE_PX**2,
        )
        for index, (x, y) in enumerate(PLACES)
    )
    return LabelSet((LabelledPicture("a.png", (100, 100), items),), names)


def found(scores, classes=None, shift_px: int = 0) -> list[Instances]:
    masks = tuple(square(x + shift_px, y) for (x, y), _ in zip(PLACES, scores, strict=False))
    boxes = np.array([[m.x_px, m.y_px, m.x_px + SIDE_PX, m.y_px + SIDE_PX] for m in masks], np.float32)
    kinds = np.array(classes or [0] * len(masks), np.int32)
    return [Instances(boxes.reshape(-1, 4), np.array(scores, np.float32), kinds, masks)]


def test_all_found_exactly_is_one_and_a_missing_quarter_costs_a_quarter():
    everything = mask_ap(labels("fruit"), found([0.9, 0.8, 0.7, 0.6]), ("fruit",), threshold=0.5)
    assert everything.ap50_95 == everything.ap50 == everything.ap50_deployed == 1.0
    three = mask_ap(labels("fruit"), found([0.9, 0.8, 0.7]), ("fruit",), threshold=0.5)
    assert three.ap50 == pytest.approx(0.75, abs=0.01)


def test_scores_that_sink_below_the_threshold_are_told():
    sunk = mask_ap(labels("fruit"), found([0.9, 0.8, 0.4, 0.3]), ("fruit",), threshold=0.5)
    assert sunk.ap50_95 == 1.0
    assert sunk.ap50_deployed == pytest.approx(0.5, abs=0.01)


def test_masks_that_moved_lose_at_the_higher_overlaps_only():
    moved = mask_ap(labels("fruit"), found([0.9, 0.8, 0.7, 0.6], shift_px=4), ("fruit",), threshold=0.5)
    assert moved.ap50 == 1.0
    assert moved.ap50_95 == pytest.approx(0.4, abs=0.05)  # IoU 16 / 24 passes 0.5, 0.55, 0.6 and 0.65


def test_a_model_of_one_class_has_all_labels_in_it_and_others_keep_theirs():
    assert mask_ap(labels("green", "ripe"), found([0.9, 0.8, 0.7, 0.6]), ("fruit",), threshold=0.5).ap50 == 1.0
    right = mask_ap(labels("green", "ripe"), found([0.9] * 4, [0, 1, 0, 1]), ("green", "ripe"), threshold=0.5)
    wrong = mask_ap(labels("green", "ripe"), found([0.9] * 4, [1, 0, 1, 0]), ("green", "ripe"), threshold=0.5)
    assert (right.ap50, wrong.ap50) == (1.0, 0.0)


def test_nothing_found_is_zero():
    assert mask_ap(labels("fruit"), found([]), ("fruit",), threshold=0.5) == MaskAp(0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("precision", "loss", "passes"), [("int8", 0.009, True), ("int8", 0.011, False), ("fp16", 0.003, False)]
)
def test_a_loss_beyond_the_limit_is_told_with_the_figures(precision, loss, passes):
    report = LabelReport(3, 200, 0.5, MaskAp(0.7, 0.9, 0.85), MaskAp(0.7 - loss, 0.9, 0.85))
    told = report.beyond(precision)
    assert (told == []) == passes
    assert passes or f"{0.7 - loss:.4f} for 0.7000, 200 labels" in told[0]


def test_classes_that_the_model_lacks_and_empty_files_are_refused(tmp_path):
    path = tmp_path / "labels.json"
    image = {"id": 1, "file_name": "a.png", "width": 100, "height": 100}
    path.write_text(json.dumps({"images": [image], "annotations": [], "categories": [{"id": 1, "name": "leaf"}]}))
    with pytest.raises(LabelsError, match="no labels"):
        read_for(path, tmp_path, ("fruit",))


def test_a_picture_of_another_size_is_refused(tmp_path):
    cv2.imwrite(str(tmp_path / "a.png"), np.zeros((50, 100, 3), np.uint8))

    class Model:
        class info:
            tile_size_px = 64

    with pytest.raises(LabelsError, match="another size"):
        predict(Model(), labels("fruit"), tmp_path)
    with pytest.raises(LabelsError, match=r"a\.png"):
        predict(Model(), labels("fruit"), tmp_path / "nowhere")


def test_a_graph_that_lost_too_much_is_refused(tmp_path, monkeypatch):
    class Model:
        class info:
            class_names = ("fruit",)
            precision = "int8"

        def close(self):
            """Nothing is open."""

    report = LabelReport(1, 200, 0.5, MaskAp(0.7, 0.9, 0.85), MaskAp(0.65, 0.9, 0.85))
    monkeypatch.setattr(label_check, "open_segmenter", lambda path: Model())
    monkeypatch.setattr(label_check, "read_for", lambda *_: labels("fruit"))
    monkeypatch.setattr(label_check, "compare_on_labels", lambda *_, **__: report)
    with pytest.raises(RefusedError, match=r"int8 was refused.*0\.6500 for 0\.7000") as refused:
        label_check.judge_on_labels(tmp_path / "a.onnx", tmp_path / "b.onnx", tmp_path / "l.json", threshold=0.5)
    assert refused.value.figures["labelled"]["candidate"]["ap50_95"] == 0.65


def test_each_graph_tells_how_many_pictures_are_done(tmp_path):
    cv2.imwrite(str(tmp_path / "a.png"), np.zeros((100, 100, 3), np.uint8))

    def model(precision: str) -> SimpleNamespace:
        info = SimpleNamespace(tile_size_px=128, class_names=("fruit",), precision=precision)
        return SimpleNamespace(info=info, segment=lambda tiles: [TileResult(Instances.empty(), 0) for _ in tiles])

    told = []
    label_check.compare_on_labels(
        model("fp32"), model("int8"), labels("fruit"), tmp_path, threshold=0.5, progress=lambda *step: told.append(step)
    )
    assert told == [("labelled pictures in fp32", 1, 1), ("labelled pictures in int8", 1, 1)]


@pytest.mark.slow
@pytest.mark.torch
def test_a_real_export_is_judged_on_labels_and_refused_beyond_the_limit(tmp_path, repository, monkeypatch):
    """The shipped weights on the demo's pictures in int8: the figures are COCO's, and the limit decides."""
    pytest.importorskip("ultralytics")
    from edgekit.export import export, held_tiles
    from edgekit.export.builder import Weights
    from edgekit.export.recipe import find_recipe, read_recipe

    demo = repository / "edgekit" / "assets" / "demo"
    monkeypatch.setattr(held_tiles, "MOST_CALIBRATING", 12)
    monkeypatch.setattr(export, "MOST_CALIBRATING", 12)
    monkeypatch.setattr(export, "MOST_HELD", 6)
    monkeypatch.setattr(held_tiles, "LIMITS", {"int8": Limits(1.0, 0.0, None, None, None, 1.0)})
    weights = Weights(repository / "export" / "fruit" / "fruit-yolo11n-seg.pt")
    recipe = replace(read_recipe(find_recipe("yolo11")), precision="int8")
    request = export.Request(recipe, weights, tmp_path, demo, demo / "instances.json", threshold=0.43)

    monkeypatch.setattr(label_check, "LIMITS", {"int8": {"ap50_95": 1.0}})
    (artifact,) = export.export_all(request, progress=lambda *_: None)
    told = artifact.summary()["labelled"]
    assert told["labels"] == 37
    assert 0.1 < told["reference"]["ap50_95"] < 1.0
    assert abs(told["reference"]["ap50_95"] - told["candidate"]["ap50_95"]) < 0.2
    artifact.path.unlink()

    monkeypatch.setattr(label_check, "LIMITS", {"int8": {"ap50_95": -1.0}})  # nothing gains a hundred points
    with pytest.raises(ExportError, match=r"int8 was refused on labelled pictures: mask ap50_95 0\.\d+ for 0\.\d+"):
        export.export_all(request, progress=lambda *_: None)
    assert list(tmp_path.glob("*.onnx")) == []
