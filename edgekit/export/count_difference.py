"""How far two models' counts of the same tiles lie apart, and how far chance alone could move that figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

NORMAL_95 = 1.96
"""Half width of a 95 % interval in standard errors."""


@dataclass(frozen=True)
class CountDifference:
    """Counts over all tiles."""

    reference: int
    candidate: int
    margin_share: float
    """Half width of the 95 % interval of `share`; 0 with one tile, which says nothing of others."""

    @property
    def share(self) -> float:
        """Candidate's count minus the reference's, as a share of the reference's: -0.05 is one fruit in 20 fewer."""
        return (self.candidate - self.reference) / max(self.reference, 1)

    def line(self, threshold: float) -> str:
        """Both counts, their difference, and its interval where there is one."""
        counts = f"count at {threshold:g}: {self.candidate} for {self.reference}"
        if not self.reference:  # nothing to be a share of
            return counts
        sure = f" (95 % interval +- {100 * self.margin_share:.1f} %)" if self.margin_share else ""
        return f"{counts}, {100 * self.share:+.1f} %{sure}"

    def fault(self, limit: float, threshold: float) -> str | None:
        """Why the difference lies beyond a limit, with the figures; None where it does not.

        A limit of 0 allows no difference. Any other is passed only where the whole interval lies beyond it: among some
        dozen fruit a few always cross the threshold, in both directions.
        """
        if abs(self.share) - (self.margin_share if limit else 0.0) <= limit:
            return None
        return f"{self.line(threshold)}, limit {100 * limit:g} %"


def count_difference(reference: Sequence[int], candidate: Sequence[int]) -> CountDifference:
    """The difference of two counts of the same tiles.

    The interval is that of a ratio of sums over a sample of tiles (W. G. Cochran, Sampling Techniques, 3rd edition,
    section 6.4): a loss that is the same everywhere has no spread and is told at once, one that comes from few tiles
    has much.

    Args:
        reference: count of each tile.
        candidate: counts of the same tiles.
    """
    before, after = np.asarray(reference, np.float64), np.asarray(candidate, np.float64)
    share = (after.sum() - before.sum()) / max(before.sum(), 1.0)
    rest = (after - before) - share * before
    tiles = len(before)
    variance = tiles / (tiles - 1) * float((rest**2).sum()) if tiles > 1 else 0.0
    margin = NORMAL_95 * variance**0.5 / max(before.sum(), 1.0)
    return CountDifference(int(before.sum()), int(after.sum()), float(margin))
