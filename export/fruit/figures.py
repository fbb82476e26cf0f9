"""The figures of a model on a set of tiles: COCO AP, best F1, agreement of confidence and mask quality, counts."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pycocotools import mask as rle_codec  # type: ignore[import-untyped,unused-ignore]
from pycocotools.coco import COCO  # type: ignore[import-untyped,unused-ignore]
from pycocotools.cocoeval import COCOeval  # type: ignore[import-untyped,unused-ignore]

FLOOR = 0.05
"""Confidence at and above which the runtime keeps detections."""
THRESHOLDS = np.round(np.arange(0.05, 0.995, 0.01), 2)

Rle = dict[str, Any]


@dataclass(frozen=True)
class Judged:
    """One tile. labels, masks: COCO RLE; scores: N, descending; boxes_xyxy: N x 4 in pixels; ious: N x labels."""

    labels: list[Rle]
    masks: list[Rle]
    scores: NDArray[np.float64]
    boxes_xyxy: NDArray[np.float64]
    ious: NDArray[np.float64]


def judge(labels: list[Rle], masks: list[Rle], scores: NDArray[np.float64], boxes_xyxy: NDArray[np.float64]) -> Judged:
    """Sort by score and compute the mask IoUs once."""
    order = np.argsort(-scores, kind="stable")
    masks = [masks[k] for k in order]
    ious = np.zeros((len(masks), len(labels)))
    if masks and labels:
        ious = np.asarray(rle_codec.iou(masks, labels, [0] * len(labels)))
    return Judged(labels, masks, scores[order], boxes_xyxy[order].reshape(-1, 4), ious)


def _dataset(tiles: list[Judged], side: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """COCO labels and results of the tiles."""
    labels: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for image_id, tile in enumerate(tiles, 1):
        for rle in tile.labels:
            entry = {"id": len(labels) + 1, "image_id": image_id, "category_id": 1, "iscrowd": 0, "segmentation": rle}
            labels.append({**entry, "area": float(rle_codec.area(rle)), "bbox": rle_codec.toBbox(rle).tolist()})
        for rle, score, (x0, y0, x1, y1) in zip(tile.masks, tile.scores, tile.boxes_xyxy, strict=True):
            entry = {"image_id": image_id, "category_id": 1, "score": float(score), "segmentation": rle}
            results.append({**entry, "bbox": [x0, y0, x1 - x0, y1 - y0]})
    images = [{"id": k, "width": side, "height": side} for k in range(1, len(tiles) + 1)]
    return {"images": images, "annotations": labels, "categories": [{"id": 1, "name": "fruit"}]}, results


def average_precision(tiles: list[Judged], side: int) -> dict[str, float | None]:
    """Box and mask AP by pycocotools, at most 100 detections a tile; None where nothing was found."""
    dataset, results = _dataset(tiles, side)
    out: dict[str, float | None] = {"box_ap50": None, "box_ap": None, "mask_ap50": None, "mask_ap": None}
    if not results or not dataset["annotations"]:
        return out
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = dataset
        truth.createIndex()
        for name, kind in (("box", "bbox"), ("mask", "segm")):
            # loadRes derives a box from a mask, so the boxes go in alone
            found = [{k: v for k, v in r.items() if kind == "segm" or k != "segmentation"} for r in results]
            found = [{k: v for k, v in r.items() if kind == "bbox" or k != "bbox"} for r in found]
            run = COCOeval(truth, truth.loadRes(found), kind)
            run.evaluate()
            run.accumulate()
            run.summarize()
            out[f"{name}_ap"], out[f"{name}_ap50"] = round(float(run.stats[0]), 4), round(float(run.stats[1]), 4)
    return out


def hits(tile: Judged, least_iou: float = 0.5) -> NDArray[np.bool_]:
    """Which detections hit a label, each label once, best score first, then the best free label."""
    free = np.ones(len(tile.labels), bool)
    out = np.zeros(len(tile.masks), bool)
    for k in range(len(tile.masks)):
        ious = np.where(free, tile.ious[k], 0.0) if len(free) else np.zeros(1)
        best = int(np.argmax(ious))
        if ious[best] >= least_iou:
            free[best] = False
            out[k] = True
    return out


def f1_curve(tiles: list[Judged]) -> NDArray[np.float64]:
    """Mask F1 at IoU 0.5 for each of THRESHOLDS. A threshold keeps the front of each tile's order, so one pass does."""
    scores = np.concatenate([t.scores for t in tiles])
    hit = np.concatenate([hits(t) for t in tiles])
    total = sum(len(t.labels) for t in tiles)
    found = np.array([(scores >= t).sum() for t in THRESHOLDS])
    true = np.array([(hit & (scores >= t)).sum() for t in THRESHOLDS])
    return np.asarray(2 * true / np.maximum(found + total, 1), np.float64)


def reliability(tiles: list[Judged]) -> tuple[float | None, int]:
    """Pearson R of confidence (from FLOOR up) against the best mask IoU, and the number of pairs."""
    x = np.concatenate([t.scores for t in tiles])
    y = np.concatenate([t.ious.max(1) if t.ious.size else np.zeros(len(t.masks)) for t in tiles])
    x, y = x[x >= FLOOR], y[x >= FLOOR]
    if len(x) < 3 or x.std() == 0 or y.std() == 0:
        return None, len(x)
    return round(float(np.corrcoef(x, y)[0, 1]), 4), len(x)


def figures(tiles: list[Judged], side: int) -> dict[str, Any]:
    """All figures of a set that need no deployed threshold."""
    curve = f1_curve(tiles)
    best = int(np.argmax(curve))
    r, pairs = reliability(tiles)
    return {
        "tiles": len(tiles),
        "labels": sum(len(t.labels) for t in tiles),
        **average_precision(tiles, side),
        "mask_f1": round(float(curve[best]), 4),
        "mask_f1_at": float(THRESHOLDS[best]),
        "r": r,
        "r_pairs": pairs,
    }


def at_threshold(tiles: list[Judged], threshold: float) -> dict[str, Any]:
    """F1, count and count error (per tile, so fruit on a seam counts twice on both sides) at the deployed threshold."""
    k = int(np.argmin(abs(THRESHOLDS - threshold)))
    found = int(sum((t.scores >= threshold).sum() for t in tiles))
    labels = sum(len(t.labels) for t in tiles)
    return {
        "mask_f1_deployed": round(float(f1_curve(tiles)[k]), 4),
        "count_deployed": found,
        "count_error_deployed": round(found / labels - 1, 4) if labels else None,
    }
