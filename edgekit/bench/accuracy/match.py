"""COCO's greedy matching, on the pairs that overlap enough."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgekit.bench.accuracy.objects import Floats, Ints, Predictions, Truth
from edgekit.bench.accuracy.overlap import Overlaps

IOU_SLACK = 1e-10
"""COCO lets an IoU of 1 - 1e-10 pass a threshold of 1."""


@dataclass(frozen=True, eq=False)
class Matching:
    """What became of each prediction at one IoU threshold."""

    truth: Ints
    """Row of the matched label, -1 for none."""
    ignored: npt.NDArray[np.bool_]
    """True where the match is a crowd or an ignored object: neither right nor wrong."""

    @property
    def hit(self) -> npt.NDArray[np.bool_]:
        """True positives."""
        return (self.truth >= 0) & ~self.ignored


def match(
    truth: Truth, predictions: Predictions, overlaps: Overlaps, iou: Floats, *, at: float, tie_free: bool = False
) -> Matching:
    """Match predictions to labels, highest score first; each takes the free label of the highest IoU.

    The rule is that of `COCOeval.evaluateImg` (pycocotools 2.0): labels that count come before ignored ones, of equal
    IoUs the later label wins, a crowd can be matched many times. Since each prediction only sees what those before it
    left, the matching at a higher score threshold is a part of this one: a sweep over thresholds needs no other.

    Args:
        truth: the labels.
        predictions: the predictions.
        overlaps: their overlaps.
        iou: the column of `overlaps` to use.
        at: IoU that is needed.
        tie_free: among predictions of one score let the highest IoU choose first, so that their order plays no part.
    """
    enough = np.flatnonzero(iou >= min(at, 1 - IOU_SLACK))
    found, labelled = overlaps.prediction[enough], overlaps.truth[enough]
    first = np.unique(-predictions.scores, return_inverse=True)[1] if tie_free else predictions.rank
    order = np.lexsort((-labelled, predictions.rank[found], -iou[enough], truth.ignore[labelled], first[found]))
    chosen = np.full(len(predictions), -1, np.intp)
    taken = bytearray(len(truth))
    crowd = truth.crowd.tolist()
    result = chosen.tolist()
    for i, j in zip(found[order].tolist(), labelled[order].tolist(), strict=True):
        if result[i] < 0 and (not taken[j] or crowd[j]):
            result[i] = j
            taken[j] = 1
    chosen = np.array(result, np.intp).reshape(-1)
    ignored = np.zeros(len(predictions), np.bool_)
    ignored[chosen >= 0] = truth.ignore[chosen[chosen >= 0]]
    return Matching(chosen, ignored)
