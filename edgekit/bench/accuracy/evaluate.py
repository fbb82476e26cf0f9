"""All accuracy figures of one model on one data set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgekit.bench.accuracy.bootstrap import (
    LEAST_PICTURES,
    Draws,
    aji_draws,
    ap_draws,
    f1_draws,
    picture_weights,
    r_draws,
)
from edgekit.bench.accuracy.coco_ap import CocoAp, coco_ap
from edgekit.bench.accuracy.ignore_aware import IgnoreAware, ignore_aware
from edgekit.bench.accuracy.match import Matching, match
from edgekit.bench.accuracy.objects import Predictions, Truth, require_fit
from edgekit.bench.accuracy.overlap import Overlaps, find_overlaps
from edgekit.bench.accuracy.pixels import ClassMeans, pixel_means
from edgekit.bench.accuracy.reliability import Reliability, reliability
from edgekit.bench.accuracy.sweep_aji import AjiSweep, sweep_aji
from edgekit.bench.accuracy.sweep_f1 import F1Sweep, sweep_f1
from edgekit.bench.accuracy.tie_free import tie_free_ap
from edgekit.bench.accuracy.yolo_rules import RULES, YoloFigures, yolo_figures
from edgekit.errors import SettingsError


@dataclass(frozen=True)
class AccuracySettings:
    """What can be chosen of the accuracy figures.

    Raises:
        SettingsError: a threshold that is no confidence.
    """

    score_floor: float = 0.05
    """Predictions below it play no part in R; the graph contract returns none below 0.05."""
    threshold: float | None = None
    """Where counts and pixel figures are read; None: where the mask F1 is highest."""
    draws: int = 1000
    """Resampled data sets for the intervals; 0 for none."""
    seed: int = 20250513
    """Of the resampling: two models compared must share it."""

    def __post_init__(self) -> None:
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise SettingsError(f"the threshold is {self.threshold:g}", mend="give a confidence from 0 to 1")


@dataclass(frozen=True, eq=False)
class KindFigures:
    """What is judged on boxes and on masks alike."""

    matching: Matching
    """At IoU 0.5."""
    ap: CocoAp
    f1: F1Sweep


@dataclass(frozen=True, eq=False)
class CoreAccuracy:
    """The figures of the paper, in one pass over the overlaps. Mask figures are None where masks are missing."""

    overlaps: Overlaps
    box: KindFigures
    mask: KindFigures | None
    aji: AjiSweep | None
    aji_plus: AjiSweep | None
    reliability: Reliability | None

    @property
    def threshold(self) -> float:
        """Where the F1 (of masks, where there are any) is highest."""
        best = (self.mask or self.box).f1.best
        return best.threshold if best else 0.5


@dataclass(frozen=True, eq=False)
class FurtherAccuracy:
    """The figures of other tools and benchmarks, each by the rule it is named after."""

    threshold: float
    """Where pixel and counting figures are read."""
    box_ap_tie_free: float | None
    mask_ap_tie_free: float | None
    yolo_box: tuple[YoloFigures, ...]
    yolo_mask: tuple[YoloFigures, ...]
    edgefirst_pixels: ClassMeans
    egomaize: IgnoreAware | None


def evaluate(truth: Truth, predictions: Predictions, settings: AccuracySettings | None = None) -> CoreAccuracy:
    """AP, F1 and AJI over all thresholds, and R.

    Raises:
        LabelsError: predictions that do not belong to the labels.
        MissingDependencyError: hotcoco is not installed.
    """
    settings = settings or AccuracySettings()
    require_fit(truth, predictions)
    overlaps = find_overlaps(truth, predictions)
    by_box = match(truth, predictions, overlaps, overlaps.box_iou, at=0.5)
    box = KindFigures(by_box, coco_ap(truth, predictions, "box"), sweep_f1(truth, predictions, by_box))
    if predictions.masks is None or not truth.has_outlines:
        return CoreAccuracy(overlaps, box, None, None, None, None)
    by_mask = match(truth, predictions, overlaps, overlaps.mask_iou, at=0.5)
    mask = KindFigures(by_mask, coco_ap(truth, predictions, "mask"), sweep_f1(truth, predictions, by_mask))
    return CoreAccuracy(
        overlaps, box, mask,
        sweep_aji(truth, predictions, overlaps, by_mask),
        sweep_aji(truth, predictions, overlaps, by_mask, one_to_one=True),
        reliability(truth, predictions, overlaps, by_mask, floor=settings.score_floor),
    )  # fmt: skip


def evaluate_further(
    truth: Truth, predictions: Predictions, core: CoreAccuracy, settings: AccuracySettings | None = None
) -> FurtherAccuracy:
    """Tie-free AP, the YOLO rules, EdgeFirst's pixel figures and EgoMaize's counting figures."""
    settings = settings or AccuracySettings()
    threshold = core.threshold if settings.threshold is None else settings.threshold
    overlaps, masked = core.overlaps, core.mask is not None
    box_rules, mask_rules = (
        tuple(yolo_figures(truth, predictions, overlaps, iou, rule=rule) for rule in RULES)
        for iou in (overlaps.box_iou, overlaps.mask_iou)
    )
    return FurtherAccuracy(
        threshold,
        tie_free_ap(truth, predictions, overlaps, overlaps.box_iou),
        tie_free_ap(truth, predictions, overlaps, overlaps.mask_iou) if masked else None,
        box_rules,
        mask_rules if masked else (),
        pixel_means(truth, predictions, threshold=threshold) if masked else ClassMeans(None, None, None),
        ignore_aware(truth, predictions, threshold=threshold) if masked else None,
    )


def resample(
    truth: Truth, predictions: Predictions, core: CoreAccuracy, settings: AccuracySettings | None = None
) -> Draws | None:
    """Every figure of the paper in resampled data sets; None with fewer than 10 pictures or 0 draws."""
    settings = settings or AccuracySettings()
    pictures = len(truth.picture_names)
    if pictures < LEAST_PICTURES or not settings.draws:
        return None
    weights = picture_weights(pictures, settings.draws, settings.seed)
    values = {"box_f1": f1_draws(core.box.f1, weights)}
    values["box_ap50"], values["box_ap50_95"] = ap_draws(
        truth, predictions, core.overlaps, core.overlaps.box_iou, weights
    )
    if core.mask and core.aji and core.aji_plus and core.reliability:
        values["mask_f1"] = f1_draws(core.mask.f1, weights)
        values["aji"], values["aji_plus"] = aji_draws(core.aji, weights), aji_draws(core.aji_plus, weights)
        values["r"] = r_draws(core.reliability, weights)
        values["mask_ap50"], values["mask_ap50_95"] = ap_draws(
            truth, predictions, core.overlaps, core.overlaps.mask_iou, weights
        )
    return Draws(settings.seed, pictures, {name: np.asarray(drawn) for name, drawn in values.items()})
