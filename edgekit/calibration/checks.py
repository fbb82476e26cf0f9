"""Whether a straight line with even scatter is a fair picture of the pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.stats import chi2
from scipy.stats import f as f_distribution

from edgekit.calibration.pairs import Floats


@dataclass(frozen=True)
class LineChecks:
    """p-values of the assumptions; both take the pairs as independent, so within tiles they err on the strict side."""

    even_scatter_p: float | None
    """Of even scatter around the line (Breusch and Pagan, 1979, studentised by Koenker, 1981)."""
    straight_p: float | None
    """Of no curvature: F test of a quadratic term."""
    monotone_threshold: float | None
    """Lowest confidence seen from which the monotone fit reaches the target; None where it never does."""
    monotone_reason: str | None
    """Why the monotone threshold is none, or only a bound: the fit crosses the target outside the confidences seen."""


def check_line(x: Floats, y: Floats, iou_target: float) -> LineChecks:
    """All checks of pairs that have a line; x and y are float64, n."""
    crossing = monotone_threshold(x, y, iou_target)
    return LineChecks(even_scatter_p(x, y), straight_p(x, y), crossing, _why_outside(x, crossing, iou_target))


def _why_outside(x: Floats, crossing: float | None, iou_target: float) -> str | None:
    low, high = float(x.min()), float(x.max())
    if crossing is None:
        return f"the monotone fit stays below IoU {iou_target:g} up to {high:.3f}, the highest confidence seen"
    if crossing <= low:
        return f"the monotone fit reaches IoU {iou_target:g} from {low:.3f} on, the lowest confidence seen"
    return None


def even_scatter_p(x: Floats, y: Floats) -> float | None:
    """n R^2 of the squared residuals on x against chi-square with 1 degree of freedom; None where nothing scatters."""
    squared = _residuals(np.stack([np.ones_like(x), x], axis=1), y) ** 2
    spread = squared - squared.mean()
    if not np.any(np.abs(spread) > 1e-15):
        return None
    r_squared = float(np.corrcoef(x, squared)[0, 1] ** 2)
    return float(chi2.sf(len(x) * r_squared, 1))


def straight_p(x: Floats, y: Floats) -> float | None:
    """F test of x^2 beside 1 and x; None where there are fewer than three different x, or nothing is left over."""
    if len(np.unique(x)) < 3 or len(x) < 4:
        return None
    u = x - x.mean()
    straight = np.sum(_residuals(np.stack([np.ones_like(u), u], axis=1), y) ** 2)
    bent = np.sum(_residuals(np.stack([np.ones_like(u), u, u * u], axis=1), y) ** 2)
    if bent <= 0:
        return None
    df = len(x) - 3
    return float(f_distribution.sf((straight - bent) / (bent / df), 1, df))


def monotone_threshold(x: Floats, y: Floats, iou_target: float) -> float | None:
    """Lowest x at which the rising step function of least squares (isotonic regression) reaches the target."""
    steps, fitted = monotone_fit(x, y)
    reached = fitted >= iou_target
    return float(steps[np.argmax(reached)]) if reached.any() else None


def monotone_fit(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Isotonic regression by pool-adjacent-violators: the different x in rising order, and the IoU fitted at each."""
    steps, which, counts = np.unique(x, return_inverse=True, return_counts=True)
    means = np.bincount(which, weights=y) / counts
    fitted: Floats = isotonic_regression(means, weights=counts).x
    return steps, fitted


def _residuals(design: Floats, y: Floats) -> Floats:
    coefficients, *_ = np.linalg.lstsq(design, y, rcond=None)
    left: Floats = y - design @ coefficients
    return left
