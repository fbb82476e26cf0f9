"""The Aggregated Jaccard Index at 95 thresholds, in one pass from the highest score to the lowest.

Kumar et al., "A dataset and a technique for generalized nuclear segmentation for computational pathology", IEEE TMI 36
(2017): each label takes the prediction of the highest IoU; C adds up their intersections, U their unions, U also every
label without a prediction and every prediction that no label took; AJI = C / U. A prediction may serve several labels.
AJI+ (Graham et al., HoVer-Net, 2019) pairs one to one, with the largest sum of IoU.
Masks may overlap, so everything is counted on the pairs; nothing is painted into one plane.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from edgekit.bench.accuracy.match import Matching
from edgekit.bench.accuracy.objects import Bools, Floats, Ints, Predictions, Truth
from edgekit.bench.accuracy.overlap import Overlaps
from edgekit.bench.accuracy.thresholds import THRESHOLDS, Best, best_of, by_picture, count_kept


@dataclass(frozen=True, eq=False)
class AjiSweep:
    """Sums of intersections and unions at each threshold, for each picture."""

    shared_px: Floats
    """P x 95: C."""
    whole_px: Floats
    """P x 95: U."""

    def aji(self, weights: Floats | None = None) -> Floats:
        """C / U over all pictures at each threshold: 95, or draws x 95 for weights of draws x P. NaN where U is 0."""
        weight = np.ones(len(self.shared_px)) if weights is None else weights
        shared, whole = weight @ self.shared_px, weight @ self.whole_px
        return np.asarray(np.divide(shared, whole, out=np.full(np.shape(whole), np.nan), where=whole > 0))

    @property
    def best(self) -> Best | None:
        """The highest index and the threshold where it is reached."""
        return best_of(self.aji())

    @property
    def best_picture_mean(self) -> Best | None:
        """The highest mean of the pictures' own indices; pictures without labels and predictions are left out."""
        ratio = np.divide(
            self.shared_px, self.whole_px, out=np.full(self.whole_px.shape, np.nan), where=self.whole_px > 0
        )
        count = np.isfinite(ratio).sum(axis=0)
        means = np.divide(np.nansum(ratio, axis=0), count, out=np.full(len(count), np.nan), where=count > 0)
        return best_of(means)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The pairs of a prediction and a label that count: highest scores first, then in the order of labels."""

    prediction: Ints
    truth: Ints
    shared: Floats
    whole: Floats
    iou: Floats


def sweep_aji(
    truth: Truth, predictions: Predictions, overlaps: Overlaps, matching: Matching, *, one_to_one: bool = False
) -> AjiSweep:
    """AJI (or AJI+) at each threshold.

    Ignored objects, crowds, and predictions that match them (`matching`, at IoU 0.5) take no part. Ties of IoU go to
    the higher score, then to the earlier row.
    """
    counts = ~matching.ignored
    pairs = _pairs(truth, predictions, overlaps, counts)
    order, pictures = predictions.order, len(truth.picture_names)
    kept = count_kept(predictions)
    unmatched = np.bincount(truth.picture[~truth.ignore], truth.mask_areas_px[~truth.ignore], minlength=pictures)
    alone = np.where(counts, predictions.mask_areas_px, 0.0)
    if one_to_one:
        shared, whole = _one_to_one(truth, predictions, pairs, pictures)
        whole += by_picture(alone[order], predictions.picture[order], kept, pictures)
    else:
        d_shared, d_whole = _many_to_one(truth, predictions, pairs, alone)
        shared = by_picture(d_shared[order], predictions.picture[order], kept, pictures)
        whole = by_picture(d_whole[order], predictions.picture[order], kept, pictures)
    return AjiSweep(shared, whole + unmatched[:, None])


def _pairs(truth: Truth, predictions: Predictions, overlaps: Overlaps, counts: Bools) -> _Pairs:
    chosen = (overlaps.shared_px > 0) & counts[overlaps.prediction] & ~truth.ignore[overlaps.truth]
    rows = np.flatnonzero(chosen)
    rows = rows[np.lexsort((overlaps.truth[rows], predictions.rank[overlaps.prediction[rows]]))]
    i, j, shared = overlaps.prediction[rows], overlaps.truth[rows], overlaps.shared_px[rows]
    whole = predictions.mask_areas_px[i] + truth.mask_areas_px[j] - shared
    return _Pairs(i, j, shared, whole, shared / whole)


def _many_to_one(truth: Truth, predictions: Predictions, pairs: _Pairs, alone: Floats) -> tuple[Floats, Floats]:
    """By how much each prediction, when it comes in, moves C and U."""
    d_shared, d_whole = [0.0] * len(predictions), alone.tolist()
    area, uses = alone.tolist(), [0] * len(predictions)
    best_iou, best_row = [0.0] * len(truth), [-1] * len(truth)
    label_area = truth.mask_areas_px.tolist()
    columns = (pairs.prediction, pairs.truth, pairs.shared, pairs.whole, pairs.iou)
    i_all, j_all, shared, whole, iou = (column.tolist() for column in columns)
    for row, (i, j) in enumerate(zip(i_all, j_all, strict=True)):
        if iou[row] <= best_iou[j]:
            continue
        before = best_row[j]
        if before < 0:
            d_whole[i] -= label_area[j]
        else:
            d_shared[i] -= shared[before]
            d_whole[i] -= whole[before]
            loser = i_all[before]
            uses[loser] -= 1
            if not uses[loser]:
                d_whole[i] += area[loser]
        best_iou[j], best_row[j] = iou[row], row
        d_shared[i] += shared[row]
        d_whole[i] += whole[row]
        uses[i] += 1
        if uses[i] == 1:
            d_whole[i] -= area[i]
    return np.array(d_shared), np.array(d_whole)


def _one_to_one(truth: Truth, predictions: Predictions, pairs: _Pairs, pictures: int) -> tuple[Floats, Floats]:
    """C, and the part of U that pairing saves, at each threshold: P x 95.

    Objects that no chain of overlaps joins do not compete, so each group is paired on its own, and again only at
    thresholds where a prediction comes in. A pair puts its union into U for its two areas: U falls by what both share.
    """
    last = np.searchsorted(THRESHOLDS, predictions.scores, side="right") - 1  # the highest threshold that keeps it
    count = len(predictions) + len(truth)
    graph = coo_array((np.ones(len(pairs.truth)), (pairs.prediction, len(predictions) + pairs.truth)), (count, count))
    group = connected_components(graph, directed=False)[1]
    labels = np.bincount(group[len(predictions) :], minlength=count)[group[pairs.prediction]]
    shared = _single_labels(pairs, np.flatnonzero(labels == 1), predictions, pictures)
    rivals = np.flatnonzero((labels > 1) & (last[pairs.prediction] >= 0))
    rivals = rivals[np.argsort(group[pairs.prediction[rivals]], kind="stable")]
    for rows in np.split(rivals, np.flatnonzero(np.diff(group[pairs.prediction[rivals]])) + 1):
        if len(rows):
            shared[predictions.picture[pairs.prediction[rows[0]]]] += _pair_group(
                pairs, rows, last[pairs.prediction[rows]]
            )
    return shared, -shared


def _single_labels(pairs: _Pairs, rows: Ints, predictions: Predictions, pictures: int) -> Floats:
    """C of labels whose predictions want no other: the best of those that came in so far."""
    gained = [0.0] * len(predictions)
    best: dict[int, tuple[float, float]] = {}
    columns = (pairs.prediction, pairs.truth, pairs.shared, pairs.iou)
    for i, j, shared, iou in zip(*(column[rows].tolist() for column in columns), strict=True):
        before = best.get(j, (0.0, 0.0))
        if iou > before[0]:
            gained[i] += shared - before[1]
            best[j] = (iou, shared)
    order = predictions.order
    return by_picture(np.array(gained)[order], predictions.picture[order], count_kept(predictions), pictures)


def _pair_group(pairs: _Pairs, rows: Ints, last: Ints) -> Floats:
    """C of one group at each threshold."""
    shared = np.zeros(len(THRESHOLDS))
    first = 0
    for level in sorted(set(last.tolist())):
        shared[first : level + 1] = pairs.shared[_assign(pairs, rows[last >= level])].sum()
        first = level + 1
    return shared


def _assign(pairs: _Pairs, rows: Ints) -> Ints:
    """Rows of the pairing with the largest sum of IoU."""
    found, i = np.unique(pairs.prediction[rows], return_inverse=True)
    labelled, j = np.unique(pairs.truth[rows], return_inverse=True)
    table, which = np.zeros((len(found), len(labelled))), np.full((len(found), len(labelled)), -1)
    table[i, j], which[i, j] = pairs.iou[rows], rows
    chosen = which[linear_sum_assignment(table, maximize=True)]
    return np.asarray(chosen[chosen >= 0])
