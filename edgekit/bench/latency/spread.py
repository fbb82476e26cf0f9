"""How far a latency would be off if it were measured again: below it two latencies are not told apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

FEWEST_SAMPLES = 4


def spread_share(samples_ms: Sequence[float]) -> float:
    """Half the interquartile range, or what the second half differs from the first, whichever is more.

    The drift counts in full: the median of a run that drifts depends on when it was begun.

    Args:
        samples_ms: in the order of time.

    Returns:
        A share of the median: 0.1 is 10 % either way. 0 below `FEWEST_SAMPLES`, which show no spread.
    """
    values = np.asarray(samples_ms, np.float64)
    if len(values) < FEWEST_SAMPLES:
        return 0.0
    half = len(values) // 2
    drift = abs(float(np.median(values[half:]) - np.median(values[:half])))
    middle = float(np.subtract(*np.percentile(values, [75, 25])))
    return max(middle / 2, drift) / max(float(np.median(values)), 1e-9)
