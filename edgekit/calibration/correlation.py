"""Pearson R with its interval and its p-value."""

from __future__ import annotations

import math

from scipy.special import stdtr
from scipy.stats import norm


def fisher_interval(r: float, n: int, level: float = 0.95) -> tuple[float, float] | None:
    """Interval of the correlation: tanh(atanh(R) +- z / sqrt(n - 3)) (R. A. Fisher, 1921).

    Returns:
        low and high; None where n < 4, since then the interval is everything.
    """
    if n < 4:
        return None
    if abs(r) >= 1:
        return (r, r)
    half = float(norm.ppf(0.5 + level / 2)) / math.sqrt(n - 3)
    return (math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half))


def correlation_p_value(r: float, n: int) -> float | None:
    """Two-sided p of R = 0: t = R sqrt((n - 2) / (1 - R^2)) with n - 2 degrees of freedom; None where n < 3."""
    if n < 3:
        return None
    if abs(r) >= 1:
        return 0.0
    t = abs(r) * math.sqrt((n - 2) / (1 - r * r))
    return 2 * float(stdtr(n - 2, -t))
