"""The paper's standard deviation of the threshold: equation 4 with 5 and 6, and its closed form, equation 7.

Both are first-order results with n in place of n - 2 and take the pairs as independent. They are reported because
the paper reports them; `fieller` and `bootstrap` give the intervals that are acted on.
"""

from __future__ import annotations

import numpy as np

from edgekit.calibration.moments import Moments
from edgekit.calibration.pairs import Floats
from edgekit.calibration.regression import fit_line, pearson_r, residual_variance, solve


def sigma_by_propagation(moments: Moments, iou_target: float) -> Floats:
    """Square root of equation 4.

    var(x_th) = (d x_th/d b0)^2 var(b0) + (d x_th/d b1)^2 var(b1) + 2 (d x_th/d b0)(d x_th/d b1) cov(b0, b1)   (4)
    with d x_th/d b0 = -1 / b1 and d x_th/d b1 = -x_th / b1,
    var(b1) = var_e / (n var_x) and var(b0) = var_e / n (1 + mean_x^2 / var_x)                                 (5)
    cov(b0, b1) = -mean_x var_e / (n var_x)                                                                    (6)
    """
    line = fit_line(moments)
    x_th = solve(line, iou_target)
    var_e = residual_variance(moments)
    with np.errstate(divide="ignore", invalid="ignore"):
        var_b1 = var_e / (moments.n * moments.var_x)
        var_b0 = var_e / moments.n * (1 + moments.mean_x**2 / moments.var_x)
        cov_b0_b1 = -moments.mean_x * var_b1
        to_b0, to_b1 = -1 / line.b1, -x_th / line.b1
        return np.sqrt(to_b0**2 * var_b0 + to_b1**2 * var_b1 + 2 * to_b0 * to_b1 * cov_b0_b1)


def sigma_closed_form(moments: Moments, iou_target: float) -> Floats:
    """Square root of equation 7: var(x_th) = (1/n) (1/R^2 - 1) (var_x + (x_th - mean_x)^2)."""
    x_th = solve(fit_line(moments), iou_target)
    with np.errstate(divide="ignore", invalid="ignore"):
        noise = 1 / pearson_r(moments) ** 2 - 1
        return np.sqrt(np.maximum(noise, 0.0) / moments.n * (moments.var_x + (x_th - moments.mean_x) ** 2))
