import csv
import dataclasses
import io
import json

import numpy as np
import pytest
from pycocotools import mask as coco_mask

from edgekit.contracts import Instances, MaskCrop
from edgekit.errors import RunFolderError
from edgekit.store import (
    CountRule,
    HeightBand,
    MergedFruit,
    PanoramaShape,
    RunFolder,
    RunRecorder,
    Season,
    StoredSource,
)
from edgekit.store.coco import coco_dataset, coco_results, to_json
from edgekit.store.fruit_csv import fruit_csv
from edgekit.store.records import RunPlan, SourcePlan

SOURCE = StoredSource(4, 1, "row.mp4", "frames", "merged", 900, 120_000, 720, 30)


def special_masks():
    """A pixel, a line, a figure of 8 and a ring: shapes that polygons would break."""
    pixel, line = np.ones((1, 1), bool), np.ones((1, 40), bool)
    eight = np.zeros((8, 8), bool)
    eight[:4, :4] = eight[4:, 4:] = True
    ring = np.ones((9, 9), bool)
    ring[3:6, 3:6] = False
    return [pixel, line, eight, ring]


def fruit_at(x_px):
    masks = tuple(MaskCrop(plane, x_px + 100 * i, 300) for i, plane in enumerate(special_masks()))
    boxes = np.array([[m.x_px, 300, m.x_px + m.plane.shape[1], 300 + m.plane.shape[0]] for m in masks], np.float32)
    scores = np.array([1 / 3, 0.1, 0.9, 0.7], np.float32)
    found = Instances(boxes, scores, np.array([0, 1, 0, 1], np.int32), masks)
    return MergedFruit(found, (False, True, False, False), (1, 2, 1, 1))


@pytest.mark.parametrize("x_px", [0, 119_600])
def test_results_keep_every_pixel_on_a_long_panorama(x_px):
    fruit = fruit_at(x_px)
    written = json.loads(to_json(coco_results(SOURCE, fruit)))
    for result, mask, score in zip(written, fruit.instances.masks, fruit.instances.scores, strict=True):
        assert result["segmentation"]["size"] == [720, 120_000]
        rle = {**result["segmentation"], "counts": result["segmentation"]["counts"].encode()}
        assert coco_mask.area(rle) == mask.area_px
        box = coco_mask.toBbox(rle)
        assert box.tolist() == [mask.x_px, mask.y_px, mask.plane.shape[1], mask.plane.shape[0]]
        assert np.float32(result["score"]) == score  # in full: rounded scores make ties
        assert "bbox" not in result
        assert result["image_id"] == 2


def test_results_are_plain_json_types():
    for result in coco_results(SOURCE, fruit_at(50)):
        assert type(result["score"]) is float
        assert type(result["category_id"]) is int
        assert type(result["segmentation"]["counts"]) is str
        assert all(type(value) is int for value in result["segmentation"]["size"])


def test_results_without_fruit_are_an_empty_list():
    assert json.loads(to_json([])) == []


def test_the_dataset_names_pictures_and_classes():
    dataset = coco_dataset([SOURCE], ["ripe", "green"])
    assert dataset["images"] == [{"id": 2, "file_name": "row.mp4", "width": 120_000, "height": 720}]
    assert dataset["categories"] == [{"id": 1, "name": "ripe"}, {"id": 2, "name": "green"}]


def test_the_table_has_a_line_a_fruit():
    table = list(csv.DictReader(io.StringIO(fruit_csv([(SOURCE, fruit_at(0))], ["ripe", "green"]).decode())))
    assert [line["class"] for line in table] == ["ripe", "green", "ripe", "green"]
    assert [line["area_px"] for line in table] == ["1", "40", "32", "72"]
    assert [line["cut"] for line in table] == ["0", "1", "0", "0"]
    assert table[0]["score"] == "0.333333"
    assert all(len(line["x0_px"].split(".")[1]) == 2 for line in table)


def test_nan_is_never_written():
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json({"seconds": float("nan")})


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "holiday.jpg").touch()
    with pytest.raises(RunFolderError, match="holds other files"), RunFolder(tmp_path).claimed():
        pass


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "out").touch()
    with pytest.raises(RunFolderError, match="is a file"), RunFolder(tmp_path / "out").claimed():
        pass


def test_nothing_is_deleted_when_halves_are_set_aside_again_and_again(tmp_path):
    folder = RunFolder(tmp_path / "out")
    for text in ("{", "[1", '{"a": '):
        with folder.claimed():
            pass
        folder.database.touch()
        folder.summary.write_text(text)
    with folder.claimed() as aside:
        assert len(aside) == 1
    kept = [path.read_text() for path in sorted((tmp_path / "out/set-aside").iterdir())]
    assert kept == ["{", "[1", '{"a": ']


def test_the_folder_is_free_again_after_an_error(tmp_path):
    folder = RunFolder(tmp_path / "out")
    with pytest.raises(KeyboardInterrupt), folder.claimed():
        raise KeyboardInterrupt
    with folder.claimed():
        pass


def test_differences_of_plans_are_told_one_by_one():
    one = RunPlan({"file": "a.onnx"}, "1", {"tiles.overlap_px": 96}, 0.5, "option", (SourcePlan("a", "frames", "x"),))
    two = RunPlan({"file": "b.onnx"}, "2", {"tiles.overlap_px": 64}, 0.6, "option", (SourcePlan("b", "frames", "x"),))
    assert one.differences(one) == []
    assert len(two.differences(one)) == 4


@pytest.mark.parametrize("database", [None, b""])
def test_what_is_left_of_a_run_without_its_database_is_set_aside(tmp_path, database):
    folder = RunFolder(tmp_path)
    folder.segments(0).mkdir(parents=True)
    (folder.segments(0) / "segment_0.jpg").write_bytes(b"columns")
    folder.summary.write_text("{}")
    if database is not None:
        folder.database.write_bytes(database)
    with folder.claimed() as aside:
        assert sum("database is gone" in line for line in aside) == 2
    assert not folder.summary.exists()
    assert next((tmp_path / "set-aside").rglob("segment_0.jpg")).read_bytes() == b"columns"


def test_thresholds_by_height_count_each_fruit_by_its_place(tmp_path):
    rule = CountRule(0.5, (HeightBand(0, 0.25, 0.3), HeightBand(0.25, 0.5, 0.6), HeightBand(0.5, 1, 0.9)))
    plan = RunPlan({"class_names": ["fruit"]}, "1", {}, 0.5, "season may", (SourcePlan("a", "frames", "x"),),
                   Season("may", rule.bands))  # fmt: skip
    recorder = RunRecorder(tmp_path / "run.sqlite")
    recorder.begin(plan)
    centres = np.array([10.0, 25.0, 26.0, 50.0, 51.0, 99.0])
    boxes = np.stack([centres * 0, centres - 2, centres * 0 + 4, centres + 2], axis=1).astype(np.float32)
    scores = np.array([0.3, 0.29, 0.6, 0.59, 0.9, 0.89], np.float32)
    masks = tuple(MaskCrop(np.ones((4, 4), np.bool_), 0, int(y) - 2) for y in centres)
    recorder.close_source(1, PanoramaShape(1, (100, 100), 1, 1))
    recorder.put_fruit(1, MergedFruit(Instances(boxes, scores, np.zeros(6, np.int32), masks), (False,) * 6, (1,) * 6))
    assert recorder.reader.run().plan == plan
    assert recorder.reader.run().plan.rule == rule
    assert recorder.reader.count_fruit(1, rule) == 3
    np.testing.assert_allclose(recorder.reader.fruit(1, threshold=rule).instances.scores, [0.3, 0.6, 0.9])
    assert recorder.reader.count_by_label(1, rule) == {0: 3}
    assert recorder.reader.count_fruit(1, 0.5) == 4
    assert "by height" in " ".join(dataclasses.replace(plan, season=None).differences(plan))
    recorder.close()
