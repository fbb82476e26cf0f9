"""The line through confidence and IoU, and the confidence at which it reaches a wanted IoU (equations 1 to 3).

Source of the numbered equations: "Comprehensive Evaluation of Paprika Instance Segmentation Models Based on
Segmentation Quality and Confidence Score Reliability", Horticulturae 2025, 11(5), 525.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgekit.calibration.moments import Moments
from edgekit.calibration.pairs import Floats


@dataclass(frozen=True)
class Line:
    """y = b0 + b1 x, with x the confidence and y the IoU."""

    b0: Floats
    b1: Floats

    def at(self, x: Floats | float) -> Floats:
        """IoU that the line expects at confidence x."""
        return self.b0 + self.b1 * x


def fit_line(moments: Moments) -> Line:
    """Least squares: b1 = cov(x, y) / var_x (equation 1), b0 = mean_y - b1 mean_x (equation 2)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        b1 = moments.cov_xy / moments.var_x
        return Line(moments.mean_y - b1 * moments.mean_x, b1)


def solve(line: Line, iou_target: float) -> Floats:
    """x_th = (y_th - b0) / b1 (equation 3)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return (iou_target - line.b0) / line.b1


def pearson_r(moments: Moments) -> Floats:
    """R = cov(x, y) / sqrt(var_x var_y), with its sign; R squared is another figure and has its own name."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return moments.cov_xy / np.sqrt(moments.var_x * moments.var_y)


def residual_variance(moments: Moments) -> Floats:
    """var_e = var_y (1 - R^2), the population variance of the residuals, written so that R = 1 gives 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.maximum(moments.var_y - moments.cov_xy**2 / moments.var_x, 0.0)
