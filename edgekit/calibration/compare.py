"""Whether two seasons' thresholds differ, and whether last season's may be kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from scipy.special import stdtr

from edgekit.calibration.profile import Profile

Verdict = Literal["keep", "recalibrate"]


@dataclass(frozen=True)
class SeasonComparison:
    """Last season's threshold against this season's."""

    difference: float
    """This season's threshold less last season's."""
    sigma: float
    """sqrt(s_last^2 + s_this^2), both between units."""
    t: float
    """difference / sigma."""
    df: float
    """Degrees of freedom by Welch and Satterthwaite, from the units of both seasons less one."""
    p_value: float
    """Two-sided, of equal thresholds, by Student's t."""
    inside: bool
    """Last season's threshold lies in this season's interval."""
    verdict: Verdict
    reason: str


def compare_seasons(last: Profile, this: Profile, *, alpha: float = 0.05) -> SeasonComparison:
    """ "keep" where the thresholds are not told apart and last season's lies in this season's interval.

    Profiles of different models or IoU targets are never comparable: their verdict is "recalibrate".
    """
    difference = this.threshold - last.threshold
    error_last = (last.uncertainty.sigma_units, last.relation.units)
    error_this = (this.uncertainty.sigma_units, this.relation.units)
    t, df, p_value = welch(difference, error_last, error_this)
    sigma = math.hypot(error_last[0], error_this[0])
    low, high = this.uncertainty.interval
    inside = low <= last.threshold <= high
    verdict, reason = _verdict(last, this, p_value, inside, alpha)
    return SeasonComparison(difference, sigma, t, df, p_value, inside, verdict, reason)


def welch(difference: float, a: tuple[float, int], b: tuple[float, int]) -> tuple[float, float, float]:
    """t, degrees of freedom and two-sided p of a difference of two thresholds (B. Welch, 1947).

    Args:
        difference: of the thresholds.
        a: standard error and number of units of the one.
        b: those of the other.
    """
    var_a, var_b = a[0] ** 2, b[0] ** 2
    if var_a + var_b == 0:
        return (0.0, math.inf, 1.0) if difference == 0 else (math.copysign(math.inf, difference), math.inf, 0.0)
    t = difference / math.sqrt(var_a + var_b)
    df = (var_a + var_b) ** 2 / (var_a**2 / (a[1] - 1) + var_b**2 / (b[1] - 1))
    return t, df, 2 * float(stdtr(df, -abs(t)))


def _verdict(last: Profile, this: Profile, p_value: float, inside: bool, alpha: float) -> tuple[Verdict, str]:
    low, high = this.uncertainty.interval
    if last.model_id != this.model_id:
        return "recalibrate", f"season {last.season} was calibrated with another model"
    if last.iou_target != this.iou_target:
        return "recalibrate", f"the IoU targets differ: {last.iou_target:g} and {this.iou_target:g}"
    if not inside:
        return "recalibrate", f"{last.threshold:.3f} lies outside this season's {low:.3f} to {high:.3f}"
    if p_value < alpha:
        return "recalibrate", f"the thresholds differ (p = {p_value:.3g})"
    return "keep", f"{last.threshold:.3f} lies in this season's {low:.3f} to {high:.3f} (p = {p_value:.2g})"
