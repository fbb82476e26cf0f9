"""F1, precision and recall at 95 thresholds, from one matching."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgekit.bench.accuracy.match import Matching
from edgekit.bench.accuracy.objects import Floats, Predictions, Truth
from edgekit.bench.accuracy.thresholds import Best, best_of, by_picture, count_kept


@dataclass(frozen=True, eq=False)
class F1Sweep:
    """Counts at each threshold, for each picture, so that pictures can be resampled without matching again."""

    hits: Floats
    """P x 95: true positives."""
    found: Floats
    """P x 95: predictions that count, right or wrong."""
    labels: Floats
    """P: objects that must be found."""

    def f1(self, weights: Floats | None = None) -> Floats:
        """2 TP / (predictions + labels) at each threshold: 95, or draws x 95 for weights of draws x P.

        This is the harmonic mean of precision TP / (TP + FP) and recall TP / (TP + FN). NaN without labels.
        """
        hits, found, labels = self.totals(weights)
        whole = found + labels[..., None]
        result = np.full(np.shape(whole), np.nan)
        with_labels = np.broadcast_to(labels[..., None] > 0, whole.shape)
        return np.asarray(np.divide(2 * hits, whole, out=result, where=with_labels))

    def totals(self, weights: Floats | None = None) -> tuple[Floats, Floats, Floats]:
        """Hits, predictions and labels of all pictures, each as often as its weight says."""
        weight = np.ones(len(self.labels)) if weights is None else weights
        return weight @ self.hits, weight @ self.found, np.asarray(weight @ self.labels)

    @property
    def best(self) -> Best | None:
        """The highest F1 and the threshold where it is reached."""
        return best_of(self.f1())


def sweep_f1(truth: Truth, predictions: Predictions, matching: Matching) -> F1Sweep:
    """Counts at each threshold; what matches an ignored object or a crowd counts as neither right nor wrong."""
    order, pictures = predictions.order, len(truth.picture_names)
    kept, picture = count_kept(predictions), predictions.picture[predictions.order]
    hits = by_picture(matching.hit[order].astype(np.float64), picture, kept, pictures)
    found = by_picture((~matching.ignored[order]).astype(np.float64), picture, kept, pictures)
    labels = np.bincount(truth.picture[~truth.ignore], minlength=pictures).astype(np.float64)
    return F1Sweep(hits, found, labels)
