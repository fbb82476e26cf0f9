"""Fieller's interval: all x at which "the line passes through y_th" is not rejected.

It is the exact inversion of the confidence band of the line (E. C. Fieller, 1954; N. Draper and H. Smith, Applied
Regression Analysis, section 3.2). Where the slope is not told from zero the set is unbounded: there is no threshold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student_t

from edgekit.calibration.moments import Moments
from edgekit.calibration.pairs import Floats
from edgekit.calibration.regression import fit_line, residual_variance


@dataclass(frozen=True)
class LineEstimate:
    """A line as value at a centre and slope, with the covariance of the two."""

    centre_x: Floats
    value: Floats
    """IoU of the line at centre_x."""
    slope: Floats
    var_value: Floats
    cov: Floats
    var_slope: Floats
    df: Floats
    """Degrees of freedom of the covariance."""


@dataclass(frozen=True)
class Bounds:
    """Ends of an interval; NaN where the set is unbounded."""

    low: Floats
    high: Floats

    @property
    def bounded(self) -> np.typing.NDArray[np.bool_]:
        """Where the set is an interval."""
        return np.isfinite(self.low) & np.isfinite(self.high)


def independent_estimate(moments: Moments) -> LineEstimate:
    """The line with the textbook covariance of independent residuals: s^2 = SSE / (n - 2), at mean_x."""
    with np.errstate(divide="ignore", invalid="ignore"):
        df = moments.n - 2
        residual = residual_variance(moments) * moments.n / df
        var_value = residual / moments.n
        var_slope = residual / (moments.n * moments.var_x)
    zero = np.zeros_like(var_value)
    slope = fit_line(moments).b1
    return LineEstimate(moments.mean_x, moments.mean_y, slope, var_value, zero, var_slope, df)


def slope_doubt(estimate: LineEstimate, level: float = 0.95) -> Floats:
    """g = t^2 var(b1) / b1^2: from 1 up the slope is not told from zero; it falls as 1 / n with more labels."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t2 = student_t.ppf(0.5 + level / 2, estimate.df) ** 2
        doubt: Floats = t2 * estimate.var_slope / estimate.slope**2
    return doubt


def sigma_of(estimate: LineEstimate, iou_target: float) -> Floats:
    """First-order standard deviation of x_th: sqrt(var of the line at x_th) / |b1|."""
    with np.errstate(divide="ignore", invalid="ignore"):
        u = (iou_target - estimate.value) / estimate.slope
        variance = estimate.var_value + 2 * u * estimate.cov + u * u * estimate.var_slope
        return np.sqrt(np.maximum(variance, 0.0)) / np.abs(estimate.slope)


def fieller_holds(
    estimate: LineEstimate, iou_target: float, x: Floats | float, level: float = 0.95
) -> np.typing.NDArray[np.bool_]:
    """Whether x belongs to Fieller's set, bounded or not: whether "the line reaches y_th at x" is not rejected."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t2 = student_t.ppf(0.5 + level / 2, estimate.df) ** 2
        u = x - estimate.centre_x
        variance = estimate.var_value + 2 * u * estimate.cov + u * u * estimate.var_slope
        held: np.typing.NDArray[np.bool_] = (iou_target - estimate.value - estimate.slope * u) ** 2 <= t2 * variance
    return held


def fieller_bounds(estimate: LineEstimate, iou_target: float, level: float = 0.95) -> Bounds:
    """The interval of x_th: all u = x - centre_x with (d - b1 u)^2 <= t^2 (var_a + 2 u cov + u^2 var_b1), d = y_th - a.

    That is a quadratic A u^2 - 2 B u + C <= 0; its set is an interval where A = b1^2 - t^2 var_b1 > 0, that is where
    the slope differs from zero at this level.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        t2 = student_t.ppf(0.5 + level / 2, estimate.df) ** 2
        d = iou_target - estimate.value
        a = estimate.slope**2 - t2 * estimate.var_slope
        b = estimate.slope * d + t2 * estimate.cov
        c = d**2 - t2 * estimate.var_value
        root = np.sqrt(np.maximum(b * b - a * c, 0.0))
        solid = a > 0
        low = np.where(solid, estimate.centre_x + (b - root) / a, np.nan)
        high = np.where(solid, estimate.centre_x + (b + root) / a, np.nan)
    return Bounds(low, high)
