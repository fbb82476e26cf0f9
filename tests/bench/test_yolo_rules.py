"""The figures that Ultralytics itself would print, and the differences between the rules by hand."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.bench.accuracy.overlap import find_overlaps
from edgekit.bench.accuracy.yolo_rules import IOU_STEPS, RULES, yolo_figures
from edgekit.contracts import MaskCrop
from tests.bench.scenes import predictions_of, scene, truth_of


def full_matrix(truth, predictions, overlaps, labels, found):
    iou = np.zeros((len(truth), len(predictions)))
    iou[overlaps.truth, overlaps.prediction] = overlaps.mask_iou
    return iou[np.ix_(labels, found)]


@pytest.mark.torch
@pytest.mark.parametrize("seed", range(8))
def test_equal_to_ultralytics(seed: int) -> None:
    torch = pytest.importorskip("torch")
    metrics = pytest.importorskip("ultralytics.utils.metrics")
    validator_module = pytest.importorskip("ultralytics.engine.validator")
    truth, predictions = scene(seed, pictures=8, classes=2, crowds=False, ties=False)
    overlaps = find_overlaps(truth, predictions)
    validator = validator_module.BaseValidator.__new__(validator_module.BaseValidator)
    validator.iouv = torch.tensor(np.array(IOU_STEPS))  # float64: small masks have IoUs of exactly 0.6
    correct = np.zeros((len(predictions), 10), bool)
    for picture in range(8):
        labels = np.flatnonzero(truth.picture == picture)
        found = predictions.order[predictions.picture[predictions.order] == picture]
        if not len(labels) or not len(found):
            continue
        matrix = full_matrix(truth, predictions, overlaps, labels, found)
        correct[found] = validator.match_predictions(
            torch.tensor(predictions.label[found]), torch.tensor(truth.label[labels]), torch.tensor(matrix)
        ).numpy()
    theirs = metrics.ap_per_class(correct, predictions.scores, predictions.label, truth.label, plot=False)
    mine = yolo_figures(truth, predictions, overlaps, overlaps.mask_iou, rule="ultralytics")
    precision, recall, f1, ap = theirs[2], theirs[3], theirs[4], theirs[5]
    assert mine.map50 == pytest.approx(ap[:, 0].mean(), abs=1e-9)
    assert mine.map50_95 == pytest.approx(ap.mean(), abs=1e-6)
    assert (mine.precision, mine.recall, mine.f1) == pytest.approx(
        (precision.mean(), recall.mean(), f1.mean()), abs=1e-6
    )


def test_a_prediction_that_wants_a_taken_label() -> None:
    """The second prediction fits label A best (taken) and B well enough: only the newer rules give it B."""
    square = np.ones((20, 20), bool)
    truth = truth_of(1, [MaskCrop(square, 0, 0), MaskCrop(square, 6, 0)], [0, 0])
    found = predictions_of([MaskCrop(square, 0, 0), MaskCrop(square, 2, 0)], [0, 0], [0.9, 0.8])
    overlaps = find_overlaps(truth, found)
    recall = {rule: yolo_figures(truth, found, overlaps, overlaps.mask_iou, rule=rule).map50 for rule in RULES}
    assert recall["ultralytics"] > recall["ultralytics_8_3"]
    assert recall["ultralytics"] == pytest.approx(0.995, abs=1e-3)


def test_tail_differs_from_coco() -> None:
    """Ten objects, five found, no false alarm: what comes after recall .5 is where the rules differ."""
    from edgekit.bench.accuracy.match import match
    from edgekit.bench.accuracy.tie_free import ap_from_matching

    square = np.ones((4, 4), bool)
    truth = truth_of(10, [MaskCrop(square, 0, 0)] * 10, range(10))
    found = predictions_of([MaskCrop(square, 0, 0)] * 5, range(5), [0.9, 0.8, 0.7, 0.6, 0.5])
    overlaps = find_overlaps(truth, found)
    matching = match(truth, found, overlaps, overlaps.mask_iou, at=0.5)
    assert ap_from_matching(truth, found, matching) == pytest.approx(51 / 101)
    area = {rule: yolo_figures(truth, found, overlaps, overlaps.mask_iou, rule=rule).map50 for rule in RULES}
    assert area["ultralytics"] == pytest.approx(0.495, abs=1e-3)
    assert area["ultralytics_8_3"] == pytest.approx(0.75, abs=1e-3)
    assert area["yolov7"] == pytest.approx(0.505, abs=1e-3)


def test_no_labels() -> None:
    _, predictions = scene(0)
    empty = truth_of(6, [], [])
    for rule in RULES:
        overlaps = find_overlaps(empty, predictions)
        assert yolo_figures(empty, predictions, overlaps, overlaps.mask_iou, rule=rule).map50 is None
