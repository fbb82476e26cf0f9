"""How long all accuracy figures take, beside pycocotools' mask AP alone and a loop of evaluations over thresholds.

    python bench/metrics/speed.py [--json]

A synthetic set: 500 pictures of 512 x 512, about 5,000 labels, 5,000 predictions. Both sides start from what they
have in memory: pycocotools from its loaded COCO objects (labels and results as RLE), edgekit from masks as crops.
Rounds alternate within one process, and the median of the rounds is given. Processor time of all threads is what
decides; wall time is given as well, which other work on the machine lengthens.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import time
from collections.abc import Callable
from statistics import median
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from edgekit.bench.accuracy.evaluate import evaluate
from edgekit.bench.accuracy.match import match
from edgekit.bench.accuracy.objects import Predictions, Truth
from edgekit.bench.accuracy.overlap import find_overlaps
from edgekit.bench.accuracy.sweep_aji import sweep_aji
from edgekit.bench.accuracy.sweep_f1 import sweep_f1
from edgekit.bench.accuracy.thresholds import THRESHOLDS
from edgekit.contracts import MaskCrop
from edgekit.masks import bounds_xyxy, encode


class Spent(NamedTuple):
    """Time of one call."""

    cpu_s: float
    wall_s: float


PICTURES, SIDE, PER_PICTURE = 500, 512, 10


def make_set(seed: int = 1) -> tuple[Truth, Predictions]:
    """Ellipses of 20 to 80 px; predictions are shifted labels, doubles and false alarms."""
    rng = np.random.default_rng(seed)
    labels, found, at = [], [], np.repeat(np.arange(PICTURES), PER_PICTURE)
    for _ in range(PICTURES):
        mine = [ellipse(rng) for _ in range(PER_PICTURE)]
        labels += mine
        found += [shifted(rng, mine[i]) for i in rng.integers(0, PER_PICTURE, PER_PICTURE - 2)]
        found += [ellipse(rng) for _ in range(2)]
    count = len(labels)
    nothing = np.zeros(count, bool)
    truth = Truth(
        tuple(f"{n}.png" for n in range(PICTURES)), ((SIDE, SIDE),) * PICTURES, ("fruit",), at,
        np.zeros(count, np.intp), boxes(labels), tuple(labels), np.array([m.area_px for m in labels], float),
        nothing, nothing, (MappingProxyType({}),) * count, True,
    )  # fmt: skip
    return truth, Predictions(at, np.zeros(count, np.intp), boxes(found), rng.random(count), tuple(found))


def ellipse(rng: np.random.Generator) -> MaskCrop:
    height, width = rng.integers(20, 81, 2)
    y, x = np.mgrid[:height, :width]
    plane = ((x - (width - 1) / 2) * 2 / width) ** 2 + ((y - (height - 1) / 2) * 2 / height) ** 2 <= 1
    return MaskCrop(plane, int(rng.integers(0, SIDE - width)), int(rng.integers(0, SIDE - height)))


def shifted(rng: np.random.Generator, mask: MaskCrop) -> MaskCrop:
    dx, dy = rng.integers(-8, 9, 2)
    height, width = mask.plane.shape
    return MaskCrop(
        mask.plane, int(np.clip(mask.x_px + dx, 0, SIDE - width)), int(np.clip(mask.y_px + dy, 0, SIDE - height))
    )


def boxes(masks: list[MaskCrop]) -> np.ndarray:
    return np.array([bounds_xyxy(mask) for mask in masks], np.float64)


def as_coco(truth: Truth, predictions: Predictions) -> tuple[COCO, COCO]:
    """Both sides as pycocotools holds them."""
    images = [{"id": n + 1, "width": SIDE, "height": SIDE} for n in range(PICTURES)]
    annotations = [
        {"id": n + 1, "image_id": int(truth.picture[n]) + 1, "category_id": 1, "iscrowd": 0,
         "area": mask.area_px, "segmentation": encode(mask, (SIDE, SIDE))}
        for n, mask in enumerate(truth.masks)
    ]  # fmt: skip
    results = [
        {"image_id": int(predictions.picture[n]) + 1, "category_id": 1, "score": float(predictions.scores[n]),
         "segmentation": encode(mask, (SIDE, SIDE))}
        for n, mask in enumerate(predictions.masks or ())
    ]  # fmt: skip
    with contextlib.redirect_stdout(io.StringIO()):
        labels = COCO()
        labels.dataset = {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "fruit"}]}
        labels.createIndex()
        return labels, labels.loadRes(results)


def pycocotools_ap(labels: COCO, results: COCO) -> float:
    with contextlib.redirect_stdout(io.StringIO()):
        evaluation = COCOeval(labels, results, "segm")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return float(evaluation.stats[0])


def threshold_loop(truth: Truth, predictions: Predictions) -> None:
    """What most scripts do: at each threshold keep some predictions and evaluate them from scratch."""
    for threshold in THRESHOLDS:
        rows = np.flatnonzero(predictions.scores >= threshold)
        masks = tuple(predictions.masks[i] for i in rows)
        part = Predictions(
            predictions.picture[rows], predictions.label[rows], predictions.boxes_xyxy[rows], predictions.scores[rows],
            masks,
        )  # fmt: skip
        overlaps = find_overlaps(truth, part)
        by_mask = match(truth, part, overlaps, overlaps.mask_iou, at=0.5)
        sweep_f1(truth, part, by_mask)
        sweep_f1(truth, part, match(truth, part, overlaps, overlaps.box_iou, at=0.5))
        sweep_aji(truth, part, overlaps, by_mask)
        sweep_aji(truth, part, overlaps, by_mask, one_to_one=True)


def fresh(truth: Truth, predictions: Predictions) -> tuple[Truth, Predictions]:
    """The same columns without anything cached."""
    return Truth(*(getattr(truth, name) for name in Truth.__dataclass_fields__)), Predictions(
        *(getattr(predictions, name) for name in Predictions.__dataclass_fields__)
    )


def timed(work: Callable[[], object]) -> Spent:
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return Spent(time.process_time() - processor, time.perf_counter() - wall)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    truth, predictions = make_set()
    labels, results = as_coco(truth, predictions)
    ours, theirs = [], []
    for _ in range(options.rounds):
        ours.append(timed(lambda: evaluate(*fresh(truth, predictions))))
        theirs.append(timed(lambda: pycocotools_ap(labels, results)))
    loop = timed(lambda: threshold_loop(truth, predictions))
    sweep = [timed(lambda: sweep_once(truth, predictions)) for _ in range(options.rounds)]
    ratios = [b.cpu_s / a.cpu_s for a, b in zip(ours, theirs, strict=True)]
    figures = {
        "edgekit_everything": medians(ours), "pycocotools_mask_ap": medians(theirs),
        "ratio_cpu": median(ratios), "ratio_cpu_least": min(ratios), "ratio_cpu_most": max(ratios),
        "ratio_wall": median(b.wall_s / a.wall_s for a, b in zip(ours, theirs, strict=True)),
        "threshold_loop": loop._asdict(), "one_pass_sweeps": medians(sweep),
        "sweep_ratio_cpu": loop.cpu_s / median(item.cpu_s for item in sweep),
        "same_ap": abs(evaluate(truth, predictions).mask.ap.ap50_95 - pycocotools_ap(labels, results)) < 1e-9,
    }  # fmt: skip
    print(json.dumps(figures, indent=1) if options.json else report(figures))


def medians(spent: list[Spent]) -> dict[str, float]:
    return {name: median(getattr(item, name) for item in spent) for name in Spent._fields}


def sweep_once(truth: Truth, predictions: Predictions) -> None:
    """What the loop computes, in one pass: from masks to both F1 sweeps and both AJI sweeps."""
    truth, predictions = fresh(truth, predictions)
    overlaps = find_overlaps(truth, predictions)
    by_mask = match(truth, predictions, overlaps, overlaps.mask_iou, at=0.5)
    sweep_f1(truth, predictions, by_mask)
    sweep_f1(truth, predictions, match(truth, predictions, overlaps, overlaps.box_iou, at=0.5))
    sweep_aji(truth, predictions, overlaps, by_mask)
    sweep_aji(truth, predictions, overlaps, by_mask, one_to_one=True)


def report(figures: dict[str, Any]) -> str:
    ours, theirs, loop, sweep = (
        f"{figures[name]['cpu_s']:.3f} s"
        for name in ("edgekit_everything", "pycocotools_mask_ap", "threshold_loop", "one_pass_sweeps")
    )
    spread = f"{figures['ratio_cpu_least']:.2f} to {figures['ratio_cpu_most']:.2f}"
    return (
        f"everything (box and mask AP, F1 and AJI sweeps, R): {ours}\n"
        f"pycocotools' mask AP alone: {theirs} ({figures['ratio_cpu']:.2f} times as long, {spread}; "
        f"by wall time {figures['ratio_wall']:.2f})\n"
        f"F1, AJI at 95 thresholds: one pass {sweep}, a loop {loop}, {figures['sweep_ratio_cpu']:.0f} times as much\n"
        f"the same AP: {'yes' if figures['same_ap'] else 'NO'}"
    )


if __name__ == "__main__":
    main()
