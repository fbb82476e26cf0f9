"""EdgeFirst, WildBe and EgoMaize by their published samples and by hand; reliability; intervals."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
from scipy import stats

from edgekit.bench.accuracy.bootstrap import ap_draws
from edgekit.bench.accuracy.coco_ap import coco_ap
from edgekit.bench.accuracy.evaluate import AccuracySettings, evaluate, evaluate_further, resample
from edgekit.bench.accuracy.ignore_aware import ignore_aware
from edgekit.bench.accuracy.overlap import find_overlaps
from edgekit.bench.accuracy.pixels import class_means, pixel_means, without
from edgekit.contracts import MaskCrop
from edgekit.masks import intersection_area_px
from tests.bench.scenes import blob, predictions_of, scene, truth_of

pytest.importorskip("hotcoco")


def square(x, y, side=10) -> MaskCrop:
    return MaskCrop(np.ones((side, side), bool), x, y)


def test_edgefirst_published_sample() -> None:
    """Class A: precision 2/3, recall 2/2, accuracy 2/3; class B: 2/2, 2/5, 2/5."""
    means = class_means(np.array([2.0, 2]), np.array([1.0, 0]), np.array([0.0, 3]))
    assert round(means.precision, 2) == 0.83
    assert round(means.recall, 2) == 0.70
    assert round(means.accuracy, 2) == 0.53
    assert class_means(np.zeros(2), np.zeros(2), np.zeros(2)).precision is None


def test_edgefirst_pixels_by_hand() -> None:
    """Two overlapping predictions count their common pixels once; an ignored region's pixels do not count."""
    truth = truth_of(1, [square(0, 0), square(30, 30)], [0, 0], ignore=[False, True])
    found = predictions_of([square(0, 0), square(5, 0), square(30, 30), square(0, 20)], [0] * 4, [0.9, 0.9, 0.9, 0.2])
    means = pixel_means(truth, found, threshold=0.5)
    assert means.precision == pytest.approx(100 / 150)
    assert means.recall == 1
    assert pixel_means(truth, found, threshold=0.1).precision == pytest.approx(100 / 250)


def test_wildbe_weights_each_class_with_its_own_ap() -> None:
    """Class 0: 3 labels, all found; class 1: 1 label, missed. Weighted AP is 3/4, not the mean 1/2; no large object."""
    masks = [square(0, 0), square(12, 0), square(24, 0), square(0, 24)]
    truth = truth_of(1, masks, [0] * 4, label=[0, 0, 0, 1], classes=3)
    figures = coco_ap(truth, predictions_of(masks[:3], [0] * 3, [0.9, 0.8, 0.7]), "mask")
    assert figures.ap50_95 == pytest.approx(0.5)
    assert figures.ap_weighted == pytest.approx(0.75)
    assert figures.ap_by_class == {"class0": pytest.approx(1), "class1": 0, "class2": None}
    assert figures.ap_large is None


def test_egomaize_ignored_pixels_leave_both_sides() -> None:
    """Label and prediction differ only inside the ignored region: ignoring makes them equal, background does not."""
    label = MaskCrop(np.ones((10, 10), bool), 0, 0)
    found = MaskCrop(np.ones((10, 16), bool), 0, 0)
    region = MaskCrop(np.ones((20, 20), bool), 10, 0)
    truth = truth_of(1, [label, region], [0, 0], ignore=[False, True])
    predictions = predictions_of([found, square(15, 5)], [0, 0], [0.9, 0.9])
    figures = ignore_aware(truth, predictions, threshold=0.5)
    assert figures.ignoring.mean_iou == 1
    assert (figures.ignoring.ap50, figures.ignoring.count_error) == (1, 0)
    assert figures.as_background.mean_iou == pytest.approx(100 / 160)
    assert (figures.as_background.ap50, figures.as_background.count_error) == (0.5, 1)


def test_egomaize_counts_distance_and_occlusion() -> None:
    truth = truth_of(2, [square(0, 0), square(20, 0), square(0, 20)], [0, 0, 1])
    truth = replace(truth, attributes=tuple(MappingProxyType({"occlusion": o}) for o in ("none", "heavy", "heavy")))
    found = predictions_of([square(0, 0), square(23, 0)], [0, 0], [0.9, 0.9])
    figures = ignore_aware(truth, found, threshold=0.5).ignoring
    assert figures.recall_by_occlusion == {"none": (1.0, 1), "heavy": (0.5, 2)}
    assert figures.centre_distance_px == pytest.approx(1.5)
    assert figures.count_bias == pytest.approx(-1 / 3)
    assert figures.count_error == 0.5
    assert figures.ap25 == pytest.approx(2 / 3)


def test_difficulty_rises_with_occlusion_and_crowding() -> None:
    easy = truth_of(1, [square(0, 0, 40)], [0])
    hard = truth_of(1, [square(0, 0), square(5, 5), square(9, 9)], [0] * 3)
    hard = replace(hard, attributes=(MappingProxyType({"occluded": "1"}),) * 3)
    nothing = truth_of(1, [], [])
    values = [ignore_aware(t, predictions_of([], [], []), threshold=0.5).difficulty[0] for t in (nothing, easy, hard)]
    assert values == sorted(values)
    assert values[0] == 0
    assert values[2] > 0.8


@pytest.mark.parametrize("seed", range(20))
def test_without(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = blob(rng), blob(rng)
    left = without(a, b)
    assert left.area_px == a.area_px - intersection_area_px(a, b)
    assert intersection_area_px(left, b) == 0


def test_r_is_pearsons_with_its_sign() -> None:
    truth, predictions = scene(5, pictures=20, crowds=False)
    core = evaluate(truth, predictions)
    pairs = core.reliability
    expected = stats.pearsonr(pairs.confidence, pairs.best_iou)
    assert pairs.r == pytest.approx(expected.statistic)
    assert pairs.r_squared == pytest.approx(expected.statistic**2)
    assert pairs.p_value == pytest.approx(expected.pvalue)
    assert pairs.r_interval == pytest.approx(tuple(expected.confidence_interval(0.95)), abs=1e-6)
    assert (pairs.confidence >= 0.05).all()
    assert (pairs.best_iou == 0).any()


def test_reliability_without_spread_and_thin_bins() -> None:
    truth = truth_of(3, [square(0, 0)] * 3, range(3))
    core = evaluate(truth, predictions_of([square(0, 0)] * 3, range(3), [0.5] * 3))
    assert core.reliability.r is None
    assert all(mean is None for _, _, _, mean in core.reliability.bins)
    assert sum(count for _, _, count, _ in core.reliability.bins) == 3


def test_intervals_hold_the_point_and_are_repeatable() -> None:
    truth, predictions = scene(2, pictures=40, classes=2)
    core = evaluate(truth, predictions)
    settings = AccuracySettings(draws=200)
    drawn, again = (resample(truth, predictions, core, settings) for _ in range(2))
    points = {"mask_f1": core.mask.f1.best.value, "mask_ap50": core.mask.ap.ap50, "mask_ap50_95": core.mask.ap.ap50_95,
              "box_ap50": core.box.ap.ap50, "aji": core.aji.best.value, "r": core.reliability.r}  # fmt: skip
    for name, value in points.items():
        low, high = drawn.interval(name)
        assert low <= value <= high
        assert np.array_equal(drawn.values[name], again.values[name], equal_nan=True)


def test_weights_of_one_give_the_plain_ap() -> None:
    truth, predictions = scene(4, pictures=12, classes=2)
    overlaps = find_overlaps(truth, predictions)
    ap50, ap = ap_draws(truth, predictions, overlaps, overlaps.mask_iou, np.ones((1, 12)))
    figures = coco_ap(truth, predictions, "mask")
    assert (ap50[0], ap[0]) == (pytest.approx(figures.ap50), pytest.approx(figures.ap50_95))


def test_few_pictures_have_no_interval() -> None:
    truth, predictions = scene(2, pictures=4)
    assert resample(truth, predictions, evaluate(truth, predictions)) is None


def test_boxes_only() -> None:
    truth, predictions = scene(1)
    core = evaluate(truth, replace(predictions, masks=None))
    assert core.mask is None
    assert core.aji is None
    assert core.box.ap.ap50 is not None
    further = evaluate_further(truth, replace(predictions, masks=None), core)
    assert further.egomaize is None
    assert further.yolo_mask == ()


def test_further_figures_run_on_a_mixed_scene() -> None:
    truth, predictions = scene(9, pictures=12, classes=3)
    core = evaluate(truth, predictions)
    further = evaluate_further(truth, predictions, core)
    assert further.threshold == core.mask.f1.best.threshold
    assert 0 <= further.mask_ap_tie_free <= 1
    assert {figures.rule for figures in further.yolo_mask} == {"ultralytics", "ultralytics_8_3", "yolov7"}
