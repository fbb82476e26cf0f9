"""Latency samples and what may be said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

SAMPLES_NEEDED: Mapping[str, int] = {"median": 1, "p90": 10, "p95": 20, "p99": 100}
"""A percentile is given from so many samples on: with fewer it is the maximum under another name."""
_SHARE = {"median": 50, "p90": 90, "p95": 95, "p99": 99}


@dataclass(frozen=True)
class LatencySummary:
    """Figures of a set of samples, milliseconds; None where there are too few samples."""

    n: int
    median_ms: float | None
    p90_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    min_ms: float | None
    max_ms: float | None
    jitter_ms: float | None
    """Interquartile range: the spread of the middle half, which one late sample does not move."""


def summarise(samples_ms: Sequence[float]) -> LatencySummary:
    """Percentiles by linear interpolation (numpy's default), as far as the number of samples allows them."""
    values = np.asarray(samples_ms, np.float64)
    n = len(values)
    given = {
        name: float(np.percentile(values, _SHARE[name])) if n >= needed else None
        for name, needed in SAMPLES_NEEDED.items()
    }
    spread = float(np.subtract(*np.percentile(values, [75, 25]))) if n >= 4 else None
    return LatencySummary(
        n, given["median"], given["p90"], given["p95"], given["p99"],
        float(values.min()) if n else None, float(values.max()) if n else None, spread,
    )  # fmt: skip
