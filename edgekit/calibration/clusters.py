"""The covariance of the line when predictions of one unit are not independent: the delete-one-unit jackknife (CR3)."""

from __future__ import annotations

import numpy as np

from edgekit.calibration.fieller import LineEstimate
from edgekit.calibration.moments import GroupSums
from edgekit.calibration.regression import fit_line


def unit_estimate(sums: GroupSums) -> LineEstimate:
    """The line with covariance (G - 1) / G sum_g d_g d_g', d_g what the coefficients move when unit g is left out.

    Known as CR3 or the cluster jackknife (R. Bell and D. McCaffrey, 2002; J. MacKinnon, M. Nielsen and M. Webb, 2023);
    with G - 1 degrees of freedom it errs on the wide side where units are few.
    """
    total, without = sums.total(), sums.without_each()
    line, lines = fit_line(total), fit_line(without)
    centre = total.mean_x
    units = sums.groups
    move_value = lines.at(centre[..., None]) - line.at(centre)[..., None]
    move_slope = lines.b1 - line.b1[..., None]
    scale = (units - 1) / units
    return LineEstimate(
        centre_x=centre,
        value=line.at(centre),
        slope=line.b1,
        var_value=scale * np.sum(move_value**2, axis=-1),
        cov=scale * np.sum(move_value * move_slope, axis=-1),
        var_slope=scale * np.sum(move_slope**2, axis=-1),
        df=np.full_like(centre, units - 1),
    )
