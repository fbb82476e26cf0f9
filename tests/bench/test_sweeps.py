"""F1 and AJI sweeps against loops over thresholds that know nothing of one pass."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.bench.accuracy.match import match
from edgekit.bench.accuracy.objects import Predictions, Truth
from edgekit.bench.accuracy.overlap import find_overlaps
from edgekit.bench.accuracy.sweep_aji import sweep_aji
from edgekit.bench.accuracy.sweep_f1 import sweep_f1
from edgekit.bench.accuracy.thresholds import THRESHOLDS
from tests.bench.scenes import predictions_of, scene, truth_of


def full(mask, size):
    plane = np.zeros((size[1], size[0]), bool)
    height, width = mask.plane.shape
    plane[mask.y_px : mask.y_px + height, mask.x_px : mask.x_px + width] = mask.plane
    return plane


def planes(truth: Truth, predictions: Predictions, picture: int, threshold: float):
    """Full planes of labels and of the kept predictions, the latter from the highest score to the lowest."""
    size = truth.sizes_wh[picture]
    labelled = [full(truth.masks[j], size) for j in np.flatnonzero(truth.picture == picture)]
    rows = np.flatnonzero((predictions.picture == picture) & (predictions.scores >= threshold))
    rows = sorted(rows, key=lambda i: -predictions.scores[i])
    return labelled, [full(predictions.masks[i], size) for i in rows]


def aji_by_planes(labelled, found) -> tuple[int, int]:
    """AJI's C and U of one picture as its paper writes them: boolean planes, one label after the other."""
    shared = whole = 0
    used = set()
    for label in labelled:
        best, at = 0.0, None
        for number, plane in enumerate(found):
            union = (label | plane).sum()
            iou = (label & plane).sum() / union if union else 0.0
            if iou > best:
                best, at = iou, number
        if at is None:
            whole += int(label.sum())
        else:
            shared += int((label & found[at]).sum())
            whole += int((label | found[at]).sum())
            used.add(at)
    whole += sum(int(plane.sum()) for number, plane in enumerate(found) if number not in used)
    return shared, whole


def aji_plus_by_planes(labelled, found) -> set[tuple[int, int]]:
    """C and U of every pairing that has the largest sum of IoU, by trying all of them."""
    common = [[int((label & plane).sum()) for plane in found] for label in labelled]
    union = [[int((label | plane).sum()) for plane in found] for label in labelled]
    label_px, found_px = ([int(plane.sum()) for plane in planes] for planes in (labelled, found))
    options: dict[tuple[int, int], float] = {}

    def pair(number: int, free: frozenset[int], total: float, shared: int, whole: int) -> None:
        if number == len(labelled):
            key = (shared, whole + sum(found_px[at] for at in free))
            options[key] = max(options.get(key, 0.0), total)
            return
        pair(number + 1, free, total, shared, whole + label_px[number])
        for at in free:
            if common[number][at]:
                iou = common[number][at] / union[number][at]
                gained = (shared + common[number][at], whole + union[number][at])
                pair(number + 1, free - {at}, total + iou, *gained)

    pair(0, frozenset(range(len(found))), 0.0, 0, 0)
    top = max(options.values())
    return {key for key, total in options.items() if total > top - 1e-12}


def sweeps(truth, predictions, one_to_one=False):
    overlaps = find_overlaps(truth, predictions)
    matching = match(truth, predictions, overlaps, overlaps.mask_iou, at=0.5)
    return sweep_aji(truth, predictions, overlaps, matching, one_to_one=one_to_one)


def test_aji_on_1000_random_cases() -> None:
    """Touching, overlapping, empty and swapped objects; labels without a prediction and predictions without a label."""
    cases = 0
    for seed in range(250):
        truth, predictions = scene(seed, pictures=4, most=5, crowds=False, size=32)
        result = sweeps(truth, predictions)
        for picture in range(4):
            cases += 1
            for at in (0, 20, 45, 75, 94):
                expected = aji_by_planes(*planes(truth, predictions, picture, THRESHOLDS[at]))
                assert (result.shared_px[picture, at], result.whole_px[picture, at]) == expected
    assert cases == 1000


def test_aji_plus_on_1000_random_cases() -> None:
    """The same pictures, at three thresholds; where several pairings are best, one of them is expected."""
    cases = several = 0
    for seed in range(250):
        truth, predictions = scene(seed, pictures=4, most=5, crowds=False, size=32)
        result = sweeps(truth, predictions, one_to_one=True)
        for picture in range(4):
            cases += 1
            for at in (0, 45, 75):
                expected = aji_plus_by_planes(*planes(truth, predictions, picture, THRESHOLDS[at]))
                assert (result.shared_px[picture, at], result.whole_px[picture, at]) in expected
                several += len(expected) > 1
    assert cases == 1000
    assert several < 30  # of 3,000: a set of answers would hide a fault


def test_aji_against_label_maps_with_gaps_in_ids() -> None:
    """Where masks do not overlap, the usual implementation on label maps must agree."""
    from edgekit.contracts import MaskCrop
    from edgekit.masks import trim

    for seed in range(40):
        rng = np.random.default_rng(seed)
        cells = rng.integers(0, 2, (2, 6, 6)) * rng.permutation(np.arange(1, 400))[:72].reshape(2, 6, 6)
        true_map = np.kron(cells[0], np.ones((5, 5), int))
        found_map = np.roll(np.kron(cells[1], np.ones((5, 5), int)), rng.integers(-2, 3, 2), (0, 1))
        true_ids, found_ids = np.unique(true_map[true_map > 0]), np.unique(found_map[found_map > 0])
        shared = whole = 0
        used = set()
        for label in true_ids:
            best = (0.0, None, 0, 0)
            for other in found_ids:
                common = int(((true_map == label) & (found_map == other)).sum())
                union = int(((true_map == label) | (found_map == other)).sum())
                if common / union > best[0]:
                    best = (common / union, other, common, union)
            if best[1] is None:
                whole += int((true_map == label).sum())
            else:
                used.add(best[1])
                shared, whole = shared + best[2], whole + best[3]
        whole += sum(int((found_map == other).sum()) for other in found_ids if other not in used)
        truth = truth_of(1, [trim(MaskCrop(true_map == n, 0, 0)) for n in true_ids], [0] * len(true_ids), size=30)
        found = predictions_of([trim(MaskCrop(found_map == n, 0, 0)) for n in found_ids], [0] * len(found_ids),
                               np.linspace(0.99, 0.1, len(found_ids)))  # fmt: skip
        result = sweeps(truth, found)
        assert (result.shared_px[0, 0], result.whole_px[0, 0]) == (shared, whole)


def test_one_prediction_serves_two_labels_in_aji_but_not_in_aji_plus() -> None:
    from edgekit.contracts import MaskCrop

    halves = [MaskCrop(np.ones((10, 5), bool), 0, 0), MaskCrop(np.ones((10, 5), bool), 5, 0)]
    truth = truth_of(1, halves, [0, 0])
    found = predictions_of([MaskCrop(np.ones((10, 10), bool), 0, 0)], [0], [0.9])
    assert sweeps(truth, found).aji()[0] == pytest.approx(100 / 200)
    assert sweeps(truth, found, one_to_one=True).aji()[0] == pytest.approx(50 / 150)


@pytest.mark.parametrize("seed", range(15))
def test_f1_against_a_loop(seed: int) -> None:
    truth, predictions = scene(seed, pictures=5, crowds=seed % 2 == 0)
    overlaps = find_overlaps(truth, predictions)
    for iou in (overlaps.mask_iou, overlaps.box_iou):
        sweep = sweep_f1(truth, predictions, match(truth, predictions, overlaps, iou, at=0.5)).f1()
        for at in range(0, 95, 7):
            kept = predictions.scores >= THRESHOLDS[at]
            part = predictions_of(
                [m for m, k in zip(predictions.masks, kept, strict=True) if k], predictions.picture[kept],
                predictions.scores[kept],
            )  # fmt: skip
            overlaps_then = find_overlaps(truth, part)
            column = overlaps_then.mask_iou if iou is overlaps.mask_iou else overlaps_then.box_iou
            matching = match(truth, part, overlaps_then, column, at=0.5)
            hits, wrong = matching.hit.sum(), (~matching.hit & ~matching.ignored).sum()
            precision = hits / (hits + wrong) if hits + wrong else 0
            recall = hits / truth.counted
            expected = 2 * precision * recall / (precision + recall) if hits else 0
            assert sweep[at] == pytest.approx(expected, abs=1e-12)


def test_empty_sides() -> None:
    nothing = predictions_of([], [], [])
    truth, predictions = scene(0)
    empty = truth_of(6, [], [])
    overlaps = find_overlaps(empty, predictions)
    matching = match(empty, predictions, overlaps, overlaps.mask_iou, at=0.5)
    assert sweep_f1(empty, predictions, matching).best is None
    assert sweeps(empty, predictions).best.value == 0
    assert sweeps(empty, nothing).best is None
    assert sweeps(truth, nothing).best.value == 0
    assert sweeps(truth, nothing, one_to_one=True).best.value == 0
