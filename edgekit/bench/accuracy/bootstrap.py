"""Intervals of accuracy figures by resampling pictures: predictions of one picture are not independent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgekit.bench.accuracy.curve import RECALL_POINTS
from edgekit.bench.accuracy.match import match
from edgekit.bench.accuracy.objects import Floats, Predictions, Truth
from edgekit.bench.accuracy.overlap import Overlaps
from edgekit.bench.accuracy.reliability import Reliability, pearson
from edgekit.bench.accuracy.sweep_aji import AjiSweep
from edgekit.bench.accuracy.sweep_f1 import F1Sweep
from edgekit.bench.accuracy.tie_free import IOU_STEPS

LEAST_PICTURES = 10
"""With fewer pictures a bootstrap interval is far too narrow: none is given."""


@dataclass(frozen=True, eq=False)
class Draws:
    """Each figure in each resampled data set; two models on the same pictures and seed share the draws."""

    seed: int
    pictures: int
    values: Mapping[str, Floats]
    """Name of a figure -> its values; NaN where a draw left it undefined."""

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float] | None:
        """Percentile interval; None where the figure has no draws."""
        drawn = self.values.get(name)
        if drawn is None or not np.isfinite(drawn).any():
            return None
        low, high = np.nanquantile(drawn, [0.5 - level / 2, 0.5 + level / 2])
        return float(low), float(high)


def picture_weights(pictures: int, draws: int, seed: int) -> Floats:
    """draws x P: how often each picture is drawn, P times with replacement."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(pictures, np.full(pictures, 1 / pictures), size=draws).astype(np.float64)


def f1_draws(sweep: F1Sweep, weights: Floats) -> Floats:
    """Highest F1 over thresholds in each draw."""
    return _highest(sweep.f1(weights))


def aji_draws(sweep: AjiSweep, weights: Floats) -> Floats:
    """Highest AJI over thresholds in each draw."""
    return _highest(sweep.aji(weights))


def r_draws(pairs: Reliability, weights: Floats) -> Floats:
    """Pearson's R in each draw."""
    values = (pearson(pairs.confidence, pairs.best_iou, weight[pairs.picture]) for weight in weights)
    return np.array([np.nan if value is None else value for value in values])


def ap_draws(
    truth: Truth, predictions: Predictions, overlaps: Overlaps, iou: Floats, weights: Floats
) -> tuple[Floats, Floats]:
    """AP50 and AP50-95 in each draw: means over the classes that the draw has labels of."""
    matchings = [match(truth, predictions, overlaps, iou, at=float(at)) for at in IOU_STEPS]
    classes = range(len(truth.class_names))
    total = np.zeros((len(weights), len(IOU_STEPS)))
    defined = np.zeros((len(weights), 1))
    for number in classes:
        mine = predictions.order[predictions.label[predictions.order] == number]
        hit = np.array([matching.hit[mine] for matching in matchings])
        seen = np.array([~matching.ignored[mine] for matching in matchings])
        labelled = truth.picture[(truth.label == number) & ~truth.ignore]
        for row, weight in enumerate(weights):
            labels = weight[labelled].sum()
            if labels > 0:
                total[row] += _weighted_ap(hit, seen, weight[predictions.picture[mine]], labels)
                defined[row] += 1
    values = np.divide(total, defined, out=np.full(total.shape, np.nan), where=defined > 0)
    return values[:, 0], values.mean(axis=1)


def _weighted_ap(hit: npt.NDArray[np.bool_], seen: npt.NDArray[np.bool_], weight: Floats, labels: float) -> Floats:
    """COCO's AP at each IoU step (rows of `hit`), predictions counted by weight."""
    right = np.cumsum(hit * weight, axis=1)
    count = np.cumsum(seen * weight, axis=1)
    precision = np.divide(right, count, out=np.zeros_like(right), where=count > 0)
    best = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
    best = np.concatenate([best, np.zeros((len(best), 1))], axis=1)
    recall = right / labels
    return np.array([
        row[np.searchsorted(at, RECALL_POINTS, side="left")].mean() for row, at in zip(best, recall, strict=True)
    ])  # fmt: skip


def _highest(values: Floats) -> Floats:
    defined = np.isfinite(values).any(axis=1)
    result = np.full(len(values), np.nan)
    result[defined] = np.nanmax(values[defined], axis=1)
    return result
