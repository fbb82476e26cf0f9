"""The threshold of best F1, for comparison: it depends on how many fruit there are, not only on the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgekit.calibration.pairs import Floats
from edgekit.calibration.risk import GRID

TIE_RULE = "of thresholds with equal F1 the highest: it keeps the fewest false alarms"


@dataclass(frozen=True)
class BestF1:
    """The best of a grid of thresholds."""

    threshold: float
    f1: float
    precision: float
    recall: float
    tie_rule: str = TIE_RULE


def best_f1(confidence: Floats, hit: npt.NDArray[np.bool_], labels: int) -> BestF1 | None:
    """Best F1 = 2 TP / (predictions + labels) over thresholds 0.05 to 0.99 by 0.01.

    Args:
        confidence: float64, n.
        hit: bool, n; a label's first prediction with IoU >= 0.5, each label serving one.
        labels: number of labels.

    Returns:
        None where there is neither a prediction nor a label.
    """
    order = np.sort(confidence)
    hits = np.sort(confidence[hit])
    grid = np.array(GRID)
    kept = len(order) - np.searchsorted(order, grid)
    true = len(hits) - np.searchsorted(hits, grid)
    if labels + len(order) == 0:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        f1 = np.nan_to_num(2 * true / (kept + labels))
    at = len(f1) - 1 - int(np.argmax(f1[::-1]))
    precision = float(true[at] / kept[at]) if kept[at] else 0.0
    recall = float(true[at] / labels) if labels else 0.0
    return BestF1(float(grid[at]), float(f1[at]), precision, recall)
