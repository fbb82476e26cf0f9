"""AP equals pycocotools, on published results and on random sets."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import numpy as np
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from edgekit.bench.accuracy.coco_ap import coco_ap
from edgekit.bench.accuracy.curve import average_precision, curve
from edgekit.bench.accuracy.match import match
from edgekit.bench.accuracy.overlap import find_overlaps
from edgekit.bench.accuracy.results_file import read_results
from edgekit.bench.accuracy.tie_free import ap_from_matching
from edgekit.labels import read_coco
from edgekit.masks import encode
from tests.bench.scenes import predictions_of, scene, truth_of

pytest.importorskip("hotcoco")


def peer(data, results, kind):
    """The twelve figures of pycocotools' summary, None for its -1."""
    with contextlib.redirect_stdout(io.StringIO()):
        labels = COCO()
        labels.dataset = data
        labels.createIndex()
        found = labels.loadRes(results) if results else COCO()
        evaluation = COCOeval(labels, found, kind)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return [None if value == -1 else value for value in evaluation.stats]


def ours(figures):
    return [
        figures.ap50_95, figures.ap50, figures.ap75, figures.ap_small, figures.ap_medium, figures.ap_large,
        figures.ar_1, figures.ar_10, figures.ar_100,
    ]  # fmt: skip


def as_coco(truth, predictions):
    images = [
        {"id": n, "width": w, "height": h, "file_name": name}
        for n, (name, (w, h)) in enumerate(zip(truth.picture_names, truth.sizes_wh, strict=True), 1)
    ]
    wh = lambda box: [float(box[0]), float(box[1]), float(box[2] - box[0]), float(box[3] - box[1])]  # noqa: E731
    annotations = [
        {"id": n + 1, "image_id": int(truth.picture[n]) + 1, "category_id": int(truth.label[n]) + 1,
         "iscrowd": int(truth.crowd[n]), "area": float(truth.areas_px[n]), "bbox": wh(truth.boxes_xyxy[n]),
         "segmentation": encode(truth.masks[n], truth.sizes_wh[truth.picture[n]])}
        for n in range(len(truth))
    ]  # fmt: skip
    results = [
        {"image_id": int(predictions.picture[n]) + 1, "category_id": int(predictions.label[n]) + 1,
         "score": float(predictions.scores[n]), "bbox": wh(predictions.boxes_xyxy[n]),
         "segmentation": encode(predictions.masks[n], truth.sizes_wh[predictions.picture[n]])}
        for n in range(len(predictions))
    ]  # fmt: skip
    categories = [{"id": n + 1, "name": name} for n, name in enumerate(truth.class_names)]
    return {"images": images, "annotations": annotations, "categories": categories}, results


def kinds(data, results):
    """pycocotools evaluates boxes of results with a bbox, and takes the area of mask results from the mask."""
    boxes = [{key: value for key, value in item.items() if key != "segmentation"} for item in results]
    masks = [{key: value for key, value in item.items() if key != "bbox"} for item in results]
    return (("box", "bbox", boxes), ("mask", "segm", masks))


@pytest.mark.parametrize("seed", range(12))
def test_random_sets(seed: int) -> None:
    """Ties in file order, crowds, empty pictures; every third set has objects of all three sizes."""
    large = {"size": 260, "grow": 6} if seed % 3 == 0 else {}
    truth, predictions = scene(seed, pictures=8, classes=1 + seed % 3, **large)
    data, results = as_coco(truth, predictions)
    for kind, iou_type, found in kinds(data, results):
        expected = peer(json.loads(json.dumps(data)), found, iou_type)
        for mine, theirs in zip(ours(coco_ap(truth, predictions, kind)), expected, strict=False):
            assert mine == theirs or mine == pytest.approx(theirs, abs=1e-9)


def test_more_than_100_objects_in_a_picture() -> None:
    truth, predictions = scene(3, pictures=2, most=140, size=200)
    assert np.bincount(predictions.picture).max() > 100
    data, results = as_coco(truth, predictions)
    for kind, iou_type, found in kinds(data, results):
        figures = coco_ap(truth, predictions, kind)
        assert ours(figures) == pytest.approx(peer(json.loads(json.dumps(data)), found, iou_type)[:9], abs=1e-9)
        assert figures.cut_pictures >= 1


def test_nothing_predicted_and_nothing_labelled() -> None:
    truth, predictions = scene(1)
    nothing = predictions_of([], [], [])
    assert coco_ap(truth, nothing, "mask").ap50 == 0
    empty = truth_of(6, [], [])
    assert coco_ap(empty, predictions, "mask").ap50 is None
    assert coco_ap(empty, nothing, "box").ap_weighted is None


@pytest.mark.shared
@pytest.mark.parametrize(("kind", "file", "expected"), [
    ("mask", "segm", {"ap50_95": 0.319545, "ap50": 0.562288, "ap75": 0.298927}),
    ("box", "bbox", {"ap50_95": 0.504581}),
])  # fmt: skip
def test_published_figures(shared: Path, kind, file, expected) -> None:
    folder = shared / "data" / "coco_val100"
    labels_file = folder / "instances_val2014_100.json"
    results_file = folder / f"instances_val2014_fake{file}100_results.json"
    truth, predictions, odd = read_results(results_file, read_coco(labels_file))
    assert not odd
    figures = coco_ap(truth, predictions, kind)
    for name, value in expected.items():
        assert getattr(figures, name) == pytest.approx(value, abs=1e-6)
    theirs = peer(
        json.loads(labels_file.read_text()), json.loads(results_file.read_text()), "bbox" if kind == "box" else "segm"
    )
    assert ours(figures) == pytest.approx(theirs[:9], abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_own_matching_gives_the_same_ap(seed: int) -> None:
    """The bootstrap and the tie-free figure use edgekit's own matching: it must be COCO's."""
    truth, predictions = scene(seed, pictures=8, classes=2)
    overlaps = find_overlaps(truth, predictions)
    for kind, iou in (("mask", overlaps.mask_iou), ("box", overlaps.box_iou)):
        steps = [ap_from_matching(truth, predictions, match(truth, predictions, overlaps, iou, at=float(at)))
                 for at in np.linspace(0.5, 0.95, 10)]  # fmt: skip
        reference = coco_ap(truth, predictions, kind)
        assert steps[0] == pytest.approx(reference.ap50, abs=1e-9)
        assert np.mean(steps) == pytest.approx(reference.ap50_95, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_tie_free_ap_is_the_same_for_every_order(seed: int) -> None:
    truth, predictions = scene(seed, pictures=4)
    rng = np.random.default_rng(seed)
    values = set()
    for _ in range(20):
        order = rng.permutation(len(predictions))
        shuffled = predictions_of(
            [predictions.masks[i] for i in order], predictions.picture[order], predictions.scores[order]
        )
        overlaps = find_overlaps(truth, shuffled)
        matching = match(truth, shuffled, overlaps, overlaps.mask_iou, at=0.5, tie_free=True)
        values.add(round(ap_from_matching(truth, shuffled, matching, by_score=True), 12))
    assert len(values) == 1


def test_ties_by_hand() -> None:
    """Three objects, two hits and two false alarms, all of score 1: order moves AP50 from .663 to .332."""
    flags = [np.array(order, bool) for order in ([1, 1, 0, 0], [0, 0, 1, 1])]
    best, worst = (average_precision(curve(hit, np.ones(4), 3)) for hit in flags)
    assert (best, worst) == (pytest.approx(0.663, abs=1e-3), pytest.approx(0.332, abs=1e-3))
    assert {average_precision(curve(hit, np.ones(4), 3, by_score=True)) for hit in flags} == {0.5 * 67 / 101}


def test_area_of_a_mask_is_not_that_of_its_box() -> None:
    """A thin diagonal of 118 pixels in a box of 1,600 is small, although its result names the box."""
    diagonal = np.zeros((40, 40), bool)
    for step in range(40):
        diagonal[step, max(step - 1, 0) : step + 2] = True
    from edgekit.contracts import MaskCrop

    masks = [MaskCrop(diagonal, 0, 0)]
    figures = coco_ap(truth_of(1, masks, [0]), predictions_of(masks, [0], [0.9]), "mask")
    assert (figures.ap_small, figures.ap_medium) == (pytest.approx(1), None)
