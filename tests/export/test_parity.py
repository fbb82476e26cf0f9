"""Parity is judged on sets: what is matched, what is exempt, and what lies beyond a limit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from segment.graphs import INFO, echo_graph, tiles_with_counts
from typer.testing import CliRunner

from edgekit.contracts import Instances, MaskCrop, TileResult
from edgekit.masks import paste_box_mask

parity = pytest.importorskip("edgekit.export.parity")
LIMITS, compare, match = parity.LIMITS, parity.compare, parity.match


def discs(*rows, total=None) -> TileResult:
    """Squares of 20 px at (x, y) with a score and a label, best first."""
    rows = sorted(rows, key=lambda row: -row[2])
    instances = Instances(
        np.array([[x, y, x + 20, y + 20] for x, y, *_ in rows], np.float32).reshape(-1, 4),
        np.array([row[2] for row in rows], np.float32),
        np.array([row[3] if len(row) > 3 else 0 for row in rows], np.int32),
        tuple(MaskCrop(np.ones((20, 20), np.bool_), row[0], row[1]) for row in rows),
    )
    return TileResult(instances, len(rows) if total is None else total)


def judged(a, b, *, kind="fp32", info=INFO):
    report = compare([a], [b], info=info, threshold=0.5)
    return report, report.beyond(LIMITS[kind])


@given(st.permutations(range(6)))
@settings(max_examples=20)
def test_rows_of_equal_score_may_come_in_any_order(order):
    places = [(30 * index, 5, 0.7) for index in range(6)]
    report, faults = judged(discs(*places), discs(*(places[index] for index in order)))
    assert (report.matched, report.unmatched, faults) == (6, 0, [])
    assert report.median_iou == 1.0
    assert report.score_difference == report.box_difference_px == 0.0


def test_a_missing_and_a_surplus_detection_are_both_unmatched():
    report, faults = judged(discs((0, 0, 0.9), (40, 0, 0.8)), discs((0, 0, 0.9), (80, 0, 0.8)))
    assert (report.matched, report.unmatched) == (1, 2)
    assert report.unmatched_share == 0.5
    assert any("unmatched" in fault for fault in faults)


def test_a_score_at_the_floor_is_exempt_and_counted():
    report, faults = judged(discs((0, 0, 0.9), (40, 0, 0.05003)), discs((0, 0, 0.9)))
    assert (report.unmatched, report.exempt, faults) == (0, 1, [])


def test_rows_at_the_cut_to_k_are_exempt_and_counted():
    a = discs((0, 0, 0.9), (40, 0, 0.7), total=9)
    b = discs((0, 0, 0.9), (80, 0, 0.70001), total=9)
    report, faults = judged(a, b)
    assert (report.unmatched, report.exempt, faults) == (0, 2, [])


def test_classes_are_never_matched_with_each_other():
    report, _ = judged(discs((0, 0, 0.9, 0)), discs((0, 0, 0.9, 1)))
    assert (report.matched, report.unmatched) == (0, 2)


def test_two_equal_masks_are_told_apart_by_their_scores():
    pairs = match(discs((0, 0, 0.9), (0, 0, 0.6)).instances, discs((0, 0, 0.9), (0, 0, 0.6)).instances)
    assert [(i, j) for i, j, _ in pairs] == [(0, 0), (1, 1)]


def test_a_result_with_half_the_overlap_fails():
    """What a build for a DLA that went wrong looks like: boxes there, masks off."""
    report, faults = judged(discs((0, 0, 0.9)), discs((8, 0, 0.9)), kind="int8")
    assert report.unmatched == 2
    assert faults


def test_limits_of_each_figure_are_checked():
    base = compare([discs((0, 0, 0.9))], [discs((0, 0, 0.9))], info=INFO, threshold=0.5)
    assert base.beyond(LIMITS["fp32"]) == []
    for change, told in (
        ({"median_iou": 0.9}, "median"),
        ({"worst_iou": 0.5}, "worst"),
        ({"score_difference": 0.01}, "score"),
        ({"box_difference_px": 1.0}, "box"),
        ({"candidate_count": 2}, "count"),
        ({"score_difference": float("nan")}, "score"),
    ):
        assert any(told in fault for fault in replace(base, **change).beyond(LIMITS["fp32"])), change


def test_no_detections_at_all_agree():
    report, faults = judged(discs(), discs())
    assert (report.matched, report.median_iou, faults) == (0, None, [])


def test_the_share_is_told_with_what_it_is_a_share_of():
    report, _ = judged(discs((0, 0, 0.9), (40, 0, 0.8)), discs((0, 0, 0.9)), kind="int8")
    told = report.line(LIMITS["int8"])
    assert told == (
        "1 pair matched, 1 of 3 detections without a partner (33.3 %, limit 15 %), median mask IoU 1.0000,"
        " count at 0.5: 1 for 2, -50.0 %"
    )


def test_an_export_without_labels_says_that_accuracy_was_not_checked():
    export = pytest.importorskip("edgekit.export.export")
    report, _ = judged(discs((0, 0, 0.9)), discs((0, 0, 0.9)), kind="int8")
    info = replace(INFO, precision="int8")
    artifact = export.Artifact(Path("m.onnx"), "cpu", info, 1_000_000, parity=report)
    assert "1 pair matched, 0 of 2" in artifact.line()
    assert artifact.line().splitlines()[1].strip() == export.ACCURACY_UNCHECKED
    assert "accuracy" not in replace(artifact, parity=None).line()


def test_the_share_that_could_flip_is_told():
    report, _ = judged(discs((0, 0, 0.9), (40, 0, 0.505)), discs((0, 0, 0.89), (40, 0, 0.505)), kind="int8")
    assert report.could_flip_share == 0.5


@pytest.fixture
def pictures(tmp_path):
    import cv2

    folder = tmp_path / "pictures"
    folder.mkdir()
    for number, tile in enumerate(tiles_with_counts(3, 0, 5)):
        cv2.imwrite(str(folder / f"{number}.png"), tile[..., ::-1])
    (folder / "broken.jpg").write_bytes(b"no picture")
    return folder


def run_cli(*arguments):
    from edgekit.cli.parity import app

    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_command_compares_and_its_exit_code_is_the_verdict(tmp_path, pictures):
    import json

    a = echo_graph(tmp_path / "a.onnx")
    b = echo_graph(tmp_path / "b.onnx", replace(INFO, max_detections=4))
    same = run_cli(a, a, "--images", pictures, "--json", tmp_path / "f.json")
    assert same.exit_code == 0, same.output
    figures = json.loads((tmp_path / "f.json").read_text())
    assert (figures["matched"], figures["passed"], len(figures["skipped_pictures"])) == (8, True, 1)
    assert same.stdout.splitlines()[-1].startswith(
        "Alike: on 3 tiles both say the same within the limits of fp32, 8 for 8"
    )
    other = run_cli(a, b, "--images", pictures, "--json", "-")
    assert other.exit_code == 1
    assert "unmatched" in other.output
    told = run_cli(a, b, "--images", pictures, "--quiet").stdout.splitlines()
    assert told[-1] == "Different: on 3 tiles the two lie beyond the limits of fp32 (exit code 1)."


def test_models_of_other_classes_are_not_compared(tmp_path, pictures):
    from edgekit.errors import ModelError

    a = echo_graph(tmp_path / "a.onnx")
    b = echo_graph(tmp_path / "b.onnx", replace(INFO, class_names=("leaf",)))
    outcome = run_cli(a, b, "--images", pictures)
    assert isinstance(outcome.exception, ModelError)
    assert "not one model" in str(outcome.exception)


def test_a_mask_that_is_pasted_a_pixel_apart_is_counted_and_not_judged():
    """torchvision cuts the grown box to whole pixels: 1e-5 px at such a place move the same mask by one."""
    info = replace(INFO, mask_frame="box", mask_size_px=28)
    box = np.array([[40.0, 40.0, 68.0, 68.0]], np.float32)  # grows by one pixel on each side, to whole numbers
    mask = np.full((28, 28), 200, np.uint8)

    def pasted(boxes):
        masks = tuple(paste_box_mask(mask, row, 128) for row in boxes)
        return TileResult(Instances(boxes, np.array([0.9], np.float32), np.zeros(1, np.int32), masks), 1)

    report, faults = judged(pasted(box), pasted(box - np.float32(1e-5)), info=info)
    assert (report.matched, report.pasted_apart, report.worst_iou, faults) == (1, 1, None, [])
    report, _ = judged(pasted(box), pasted(box), info=info)
    assert (report.matched, report.pasted_apart, report.worst_iou) == (1, 0, 1.0)


def test_the_same_box_with_another_mask_is_a_pair_with_a_poor_mask():
    a = discs((0, 0, 0.9))
    b = TileResult(replace(a.instances, masks=(MaskCrop(np.ones((20, 3), np.bool_), 0, 0),)), 1)
    report, faults = judged(a, b)
    assert (report.matched, report.unmatched) == (1, 0)
    assert any("worst mask IoU 0.15" in fault for fault in faults)
