"""Energy from power samples: an integral over real time stamps, or nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def energy_j(times_s: Sequence[float], power_w: Sequence[float], start_s: float, end_s: float) -> float | None:
    """Joules spent between two moments, by the trapezium rule over samples at their own stamps.

    Power at the two ends is interpolated, so a sample is needed at or before the start and one at or after the end,
    and one more within: a window between two samples of a slow sensor says nothing of what ran in it.

    Returns:
        None where the samples do not cover the window.
    """
    t, p = np.asarray(times_s, np.float64), np.asarray(power_w, np.float64)
    if len(t) < 2 or end_s <= start_s or t[0] > start_s or t[-1] < end_s:
        return None
    inside = (t > start_s) & (t < end_s)
    if not inside.any():
        return None
    grid = np.concatenate([[start_s], t[inside], [end_s]])
    power = np.interp(grid, t, p)
    return float(((power[1:] + power[:-1]) / 2 * np.diff(grid)).sum())
