"""Pairing of predictions with labels, and pairs as a table."""

from __future__ import annotations

import numpy as np
import pytest
from calibration_data import write_pairs
from hypothesis import given
from hypothesis import strategies as st

from edgekit.calibration import CalibrationRefused, Pairs
from edgekit.calibration.pairing import TilePlace, best_label, pair_tile
from edgekit.calibration.table import read_pairs
from edgekit.calibration.units import units_by_name
from edgekit.contracts import Instances, MaskCrop
from edgekit.errors import LabelsError, SettingsError
from edgekit.labels import LabelledInstance
from edgekit.masks import bounds_xyxy


def square(x: int, y: int, side: int = 10) -> MaskCrop:
    return MaskCrop(np.ones((side, side), np.bool_), x, y)


def label(name: str, mask: MaskCrop, class_name: str = "fruit", **flags: bool) -> LabelledInstance:
    return LabelledInstance(name, class_name, mask, bounds_xyxy(mask), **flags)


def predictions(*masks: MaskCrop, labels: tuple[int, ...] | None = None) -> Instances:
    n = len(masks)
    scores = np.linspace(0.9, 0.3, n).astype(np.float32)
    numbers = np.array(labels or [0] * n, np.int32)
    boxes = np.stack([bounds_xyxy(mask) for mask in masks]) if n else np.zeros((0, 4), np.float32)
    return Instances(boxes, scores, numbers, masks)


def test_best_iou_zero_where_nothing_overlaps_and_a_label_may_serve_two():
    found = pair_tile("t", predictions(square(0, 0), square(0, 2), square(50, 50)), [label("1", square(0, 0))])
    assert found.pairs.iou.tolist() == [1.0, pytest.approx(80 / 120), 0.0]
    assert found.pairs.confidence.tolist() == pytest.approx([0.9, 0.6, 0.3], abs=1e-6)
    assert found.pairs.by_tile.names == ("t",)
    assert found.rows.tolist() == [0, 1, 2]


def test_ties_go_to_the_lowest_label_id():
    left, right = label("10", square(0, 0)), label("9", square(10, 0))
    found = pair_tile("t", predictions(square(5, 0)), [left, right])
    assert found.pairs.iou[0] == pytest.approx(50 / 150)
    assert best_label(square(5, 0), [right, left])[1] is right


def test_crowds_and_ignored_objects_take_predictions_out():
    labels = [
        label("1", square(0, 0)),
        label("2", square(20, 0, 30), is_crowd=True),
        label("3", square(80, 0), ignore=True),
    ]
    found = pair_tile("t", predictions(square(0, 0), square(25, 5), square(80, 0), square(99, 99)), labels)
    assert found.pairs.iou.tolist() == [1.0, 0.0]
    assert found.rows.tolist() == [0, 3]


def test_classes_are_matched_by_number():
    labels = [label("1", square(0, 0), "ripe"), label("2", square(1, 0), "green")]
    found = pair_tile("t", predictions(square(0, 0), labels=(1,)), labels, class_numbers={"ripe": 0, "green": 1})
    assert found.pairs.iou[0] == pytest.approx(90 / 110)
    assert pair_tile("t", predictions(square(0, 0), labels=(1,)), labels).pairs.iou[0] == 1


def test_heights_are_those_of_the_panorama():
    found = pair_tile("t", predictions(square(0, 95), square(0, 0)), [], place=TilePlace(400, 1000, "u"))
    assert found.pairs.height.tolist() == pytest.approx([0.5, 0.405])


def test_a_tile_without_predictions_has_no_pairs():
    found = pair_tile("t", predictions(), [label("1", square(0, 0))], place=TilePlace(0, 100, "u"))
    assert len(found.pairs) == 0
    assert len(Pairs.concatenate([found.pairs, found.pairs])) == 0
    assert len(Pairs.concatenate([])) == 0


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.sampled_from("abc")), max_size=20), st.booleans())
def test_a_table_comes_back_to_the_last_bit(tmp_path_factory, rows, with_height):
    x, y, tile = ([row[i] for row in rows] for i in range(3))
    more = (np.array(y, float), np.array(tile, np.str_)) if with_height else (None, None)
    pairs = Pairs(np.array(x, float), np.array(y, float), np.array(tile, np.str_), *more)
    path = tmp_path_factory.mktemp("table") / "pairs.csv"
    write_pairs(pairs, path)
    back = read_pairs(path)
    assert back.confidence.tolist() == pairs.confidence.tolist()
    assert back.iou.tolist() == pairs.iou.tolist()
    assert back.tile.tolist() == pairs.tile.tolist()
    assert (back.height is None) == (back.unit is None) == (not with_height)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no columns"),
        ("confidence,iou\n0.5,0.5\n", "no column tile"),
        ("confidence,iou,tile\n0.5,high,a\n", "line 2"),
        ("confidence,iou,tile\n0.5,0.5,a\n0.5,0.5\n", "line 3"),
        ("confidence,iou,tile\n0.5,0.5,\n", "no tile"),
        ("confidence,iou,tile\n0.5,,a\n", "line 2"),
    ],
)
def test_tables_that_cannot_be_used(tmp_path, text, says):
    path = tmp_path / "pairs.csv"
    path.write_text(text)
    with pytest.raises(LabelsError, match=says):
        read_pairs(path)


def test_a_table_from_a_spreadsheet(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_bytes("\ufeffTile name, confidence ,iou,tile\r\nx,0.5,0.25,a\r\n".encode())
    assert read_pairs(path).iou.tolist() == [0.25]
    path.write_text("confidence,iou,tile\n1.5,0.5,a\n")
    with pytest.raises(CalibrationRefused):
        read_pairs(path)
    with pytest.raises(LabelsError, match="cannot read"):
        read_pairs(tmp_path / "none.csv")


def test_pictures_are_the_units_of_tiles_that_were_cut_from_them():
    def units(*names: str) -> list[str] | None:
        found = units_by_name(np.array(names))
        return None if found is None else found.tolist()

    assert units("a.jpg@0", "a.jpg@1", "b.jpg@0") == ["a.jpg", "a.jpg", "b.jpg"]
    assert units("IMG_1_0_0.png", "IMG_1_512_0.png", "IMG_2_0_0.png") == ["IMG_1", "IMG_1", "IMG_2"]
    assert units("IMG_1_0_0.png@0", "IMG_1_512_0.png@0", "IMG_2_0_0.png@0") == ["IMG_1", "IMG_1", "IMG_2"]
    assert units("row000_tile000001.png", "row000_tile000002.png") is None
    assert units("IMG_20260501_101530.jpg", "IMG_20260501_101544.jpg") is None  # a date and a time
    assert units("a.jpg@0", "b.jpg@0") is None  # one tile a picture: the tile is the unit
    assert units() is None


def test_a_pattern_names_the_units(tmp_path):
    rows = "".join(f"0.{i % 9 + 1},0.5,IMG_{i // 3}_2016_{i}_0.jpg\n" for i in range(12))
    (tmp_path / "pairs.csv").write_text("confidence,iou,tile\n" + rows)
    pairs = read_pairs(tmp_path / "pairs.csv", unit_pattern=r"(.*)_\d+_\d+_\d+")
    assert pairs.by_unit.names == ("IMG_0", "IMG_1", "IMG_2", "IMG_3")
    for pattern, told in (("(", "is none"), ("IMG", "no group"), (r"(x+)", "does not fit"), ("(y?)", "does not fit")):
        with pytest.raises(SettingsError, match=told):
            read_pairs(tmp_path / "pairs.csv", unit_pattern=pattern)


@pytest.mark.parametrize("mark", [";", "\t"])
def test_tables_of_other_spreadsheets_are_read(tmp_path, mark):
    rows = [("confidence", "iou", "tile"), ("0,5", "0,25", "a"), ("0,75", "1", "b")]
    (tmp_path / "pairs.csv").write_text("\n".join(mark.join(row) for row in rows) + "\n")
    pairs = read_pairs(tmp_path / "pairs.csv")
    assert pairs.confidence.tolist() == [0.5, 0.75]
    assert pairs.iou.tolist() == [0.25, 1.0]
    assert pairs.by_tile.names == ("a", "b")
