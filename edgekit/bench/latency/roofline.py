"""What this machine can do at best, measured in the same run, and how much of it a model reaches."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

PRODUCT_SIDE = 1024
"""Side of the matrix product: 2 GFLOP, 12 MB, large enough to reach the peak and small enough for a Jetson."""
COPY_MB = 64
"""Larger than the caches of the processors this runs on."""
ROUNDS = 5


@dataclass(frozen=True)
class Roofline:
    """Peaks of the host processor, by numpy's BLAS on all its threads, float32."""

    peak_gmac_s: float
    """Multiply-accumulates of a 1024 x 1024 matrix product, 10^9 a second."""
    copy_gb_s: float
    """Bytes read and written by a large copy, 10^9 a second."""


@dataclass(frozen=True)
class RooflinePoint:
    """Where a model stands under the roof."""

    reached_gmac_s: float
    fraction_of_peak: float
    """Of the matrix product's peak: 1 is not reachable, 0.5 is very good for convolutions on a CPU."""


def measure_roofline() -> Roofline:
    """Measure both peaks, each the best of five rounds."""
    rng = np.random.default_rng(0)
    a, b = (rng.random((PRODUCT_SIDE, PRODUCT_SIDE), np.float32) for _ in range(2))
    product_s = _best_s(lambda: a @ b)
    source = np.ones(COPY_MB << 20, np.uint8)
    target = np.empty_like(source)
    copy_s = _best_s(lambda: np.copyto(target, source))
    return Roofline(PRODUCT_SIDE**3 / product_s / 1e9, 2 * source.nbytes / copy_s / 1e9)


def place(roof: Roofline, macs: float, latency_ms: float) -> RooflinePoint:
    """Where a call of so many MACs and so many milliseconds stands."""
    reached = macs / (latency_ms / 1e3) / 1e9
    return RooflinePoint(reached, reached / roof.peak_gmac_s)


def _best_s(call: Callable[[], object]) -> float:
    call()
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)
