"""The section accuracy of a report, as plain JSON types."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from edgekit.bench.accuracy.bootstrap import Draws
from edgekit.bench.accuracy.curve import curve
from edgekit.bench.accuracy.evaluate import (
    AccuracySettings,
    CoreAccuracy,
    FurtherAccuracy,
    KindFigures,
    evaluate,
    evaluate_further,
    resample,
)
from edgekit.bench.accuracy.objects import Predictions, Truth
from edgekit.bench.accuracy.reliability import Reliability
from edgekit.bench.accuracy.thresholds import THRESHOLDS
from edgekit.bench.accuracy.worst import worst_pictures
from edgekit.labels import LabelSet, OddAnnotation
from edgekit.wording import counted

Json = dict[str, Any]
CURVE_POINTS = 300
DIAGRAM_POINTS = 1500


@dataclass(frozen=True)
class Figure:
    """One figure of the summary."""

    value: float | None
    interval: tuple[float, float] | None = None
    at: float | None = None
    """Threshold where a maximum is reached."""


def accuracy_section(
    truth: Truth, predictions: Predictions, settings: AccuracySettings, *, remarks: Sequence[str] = ()
) -> Json:
    """Everything that can be said of predictions against labels.

    Raises:
        LabelsError: predictions that do not belong to the labels.
        MissingDependencyError: hotcoco is not installed.
    """
    core = evaluate(truth, predictions, settings)
    further = evaluate_further(truth, predictions, core, settings)
    draws = resample(truth, predictions, core, settings)
    section: Json = {
        "data": {
            "digest": data_digest(truth), "pictures": len(truth.picture_names), "labels": truth.counted,
            "ignored": int(truth.ignore.sum()), "classes": list(truth.class_names), "predictions": len(predictions),
        },
        "figures": {name: asdict(figure) for name, figure in _figures(core, draws).items()},
        "counts": _counts(core, further.threshold),
        "box": _kind(core.box),
        "mask": None if core.mask is None else _kind(core.mask),
        "by_other_rules": _other_rules(further),
        "sweeps": _sweeps(core),
        "precision_recall_iou_50": _curve(truth, predictions, core.mask or core.box),
        "reliability": None if core.reliability is None else _reliability(core.reliability),
        "worst": worst_pictures(truth, predictions, core, further.threshold),
        "draws": None if draws is None else _draws(draws),
        "settings": asdict(settings),
        "remarks": [*remarks, *_remarks(truth, core, draws)],
    }  # fmt: skip
    return section


def data_digest(truth: Truth) -> str:
    """SHA-256 over names, sizes, classes, boxes, areas and marks: equal for equal data, whatever file it came from."""
    digest = hashlib.sha256(repr((truth.picture_names, truth.sizes_wh, truth.class_names)).encode())
    for column in (truth.picture, truth.label, truth.crowd, truth.ignore):
        digest.update(np.ascontiguousarray(column, np.int64).tobytes())
    digest.update(np.round(truth.boxes_xyxy, 3).tobytes())
    digest.update(truth.mask_areas_px.tobytes())
    return digest.hexdigest()


def labels_section(labels: LabelSet, odd: Sequence[OddAnnotation] = ()) -> Json:
    """Where labels came from, and every annotation or result that was odd."""
    return {"source": labels.source, "odd": [asdict(item) for item in (*labels.odd, *odd)]}


def _figures(core: CoreAccuracy, draws: Draws | None) -> dict[str, Figure]:
    def figure(name: str, value: float | None, at: float | None = None) -> Figure:
        return Figure(value, draws.interval(name) if draws else None, at)

    figures = {
        "box_ap50": figure("box_ap50", core.box.ap.ap50),
        "box_ap50_95": figure("box_ap50_95", core.box.ap.ap50_95),
    }
    for name, sweep in (("box_f1", core.box.f1), ("mask_f1", core.mask and core.mask.f1), ("aji", core.aji),
                        ("aji_plus", core.aji_plus)):  # fmt: skip
        best = sweep.best if sweep else None
        figures[name] = figure(name, best.value, best.threshold) if best else Figure(None)
    if core.mask and core.aji and core.reliability:
        figures["mask_ap50"] = figure("mask_ap50", core.mask.ap.ap50)
        figures["mask_ap50_95"] = figure("mask_ap50_95", core.mask.ap.ap50_95)
        mean = core.aji.best_picture_mean
        figures["aji_mean_of_pictures"] = Figure(mean.value, None, mean.threshold) if mean else Figure(None)
        figures["r"] = figure("r", core.reliability.r)
    return figures


def _kind(kind: KindFigures) -> Json:
    return {"coco": asdict(kind.ap)}


def _other_rules(further: FurtherAccuracy) -> Json:
    ego = further.egomaize
    return {
        "threshold": further.threshold,
        "box_ap_tie_free": further.box_ap_tie_free,
        "mask_ap_tie_free": further.mask_ap_tie_free,
        "yolo_box": [asdict(figures) for figures in further.yolo_box],
        "yolo_mask": [asdict(figures) for figures in further.yolo_mask],
        "edgefirst_pixels": asdict(further.edgefirst_pixels),
        "egomaize": None
        if ego is None
        else {
            "ignoring": asdict(ego.ignoring),
            "as_background": asdict(ego.as_background),
            "mean_difficulty": float(np.mean(ego.difficulty)) if ego.difficulty else None,
        },
    }


def _counts(core: CoreAccuracy, threshold: float) -> Json:
    """Counting at the threshold of the grid that is nearest to the wanted one."""
    sweep = (core.mask or core.box).f1
    at = int(np.abs(THRESHOLDS - threshold).argmin())
    difference = sweep.found[:, at] - sweep.labels
    labels, hits = float(sweep.labels.sum()), float(sweep.hits[:, at].sum())
    found = float(sweep.found[:, at].sum())
    return {
        "threshold": float(THRESHOLDS[at]),
        "labels": int(labels),
        "predictions": int(found),
        "found": int(hits),
        "missed": int(labels - hits),
        "false_alarms": int(found - hits),
        "mean_absolute_count_error": float(np.abs(difference).mean()) if len(difference) else None,
        "count_bias": float(difference.sum() / labels) if labels else None,
    }


def _sweeps(core: CoreAccuracy) -> Json:
    columns = {"threshold": THRESHOLDS, "box_f1": core.box.f1.f1()}
    if core.mask and core.aji and core.aji_plus:
        columns |= {"mask_f1": core.mask.f1.f1(), "aji": core.aji.aji(), "aji_plus": core.aji_plus.aji()}
    return {name: _numbers(values) for name, values in columns.items()}


def _curve(truth: Truth, predictions: Predictions, kind: KindFigures) -> Json:
    """All classes together."""
    order = predictions.order[~kind.matching.ignored[predictions.order]]
    if not truth.counted or not len(order):
        return {"recall": [], "precision": [], "score": []}
    points = curve(kind.matching.hit[order], predictions.scores[order], truth.counted)
    every = np.unique(np.linspace(0, len(order) - 1, CURVE_POINTS).astype(int))
    return {
        "recall": _numbers(points.recall[every]),
        "precision": _numbers(points.precision[every]),
        "score": _numbers(points.scores[every]),
    }


def _reliability(pairs: Reliability) -> Json:
    every = np.unique(np.linspace(0, pairs.n - 1, DIAGRAM_POINTS).astype(int)) if pairs.n else np.zeros(0, int)
    line = np.polyfit(pairs.confidence, pairs.best_iou, 1) if pairs.r is not None else None
    return {
        "n": pairs.n, "r": pairs.r, "r_squared": pairs.r_squared, "r_interval_fisher": pairs.r_interval,
        "p_value": pairs.p_value, "bins": [list(row) for row in pairs.bins],
        "line": None if line is None else {"intercept": float(line[1]), "slope": float(line[0])},
        "confidence": _numbers(pairs.confidence[every]), "best_iou": _numbers(pairs.best_iou[every]),
    }  # fmt: skip


def _draws(draws: Draws) -> Json:
    values = {name: _numbers(np.round(drawn, 6)) for name, drawn in draws.values.items()}
    return {"seed": draws.seed, "pictures": draws.pictures, "values": values}


def _remarks(truth: Truth, core: CoreAccuracy, draws: Draws | None) -> list[str]:
    remarks = []
    if core.mask is None:
        remarks.append("no mask figures: labels or predictions have boxes only")
    if draws is None:
        remarks.append("no intervals: fewer than 10 pictures, or none were asked for")
    cut, crowds = core.box.ap.cut_pictures, int(truth.crowd.sum())
    if cut:
        remarks.append(f"COCO AP sees the best 100 predictions alone of {counted(cut, 'picture')} with more")
    if crowds:
        are = "label is a crowd" if crowds == 1 else "labels are crowds"
        remarks.append(f"{crowds} {are}: what is predicted there is neither right nor wrong")
    return [*_empty_sides(truth, core), *remarks]


def _empty_sides(truth: Truth, core: CoreAccuracy) -> list[str]:
    """What a reader must know first: on which side nothing is."""
    predicted = len(core.box.matching.hit)
    if not truth.counted and not predicted:
        return ["neither labels nor predictions hold an object: there is nothing to score"]
    if not truth.counted:
        return ["no object is labelled: every prediction is a false alarm"]
    return [] if predicted else ["nothing is predicted: every label is missed"]


def _numbers(values: Any) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in np.asarray(values)]
