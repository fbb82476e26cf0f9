"""Whether two seasons' thresholds differ, and whether last season's may be kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from scipy.special import ndtr

from edgekit.calibration.profile import Profile

Verdict = Literal["keep", "recalibrate"]


@dataclass(frozen=True)
class SeasonComparison:
    """Last season's threshold against this season's."""

    difference: float
    """This season's threshold less last season's."""
    sigma: float
    """sqrt(s_last^2 + s_this^2), both over bootstrap draws of tiles."""
    z: float
    p_value: float
    """Two-sided, of equal thresholds."""
    inside: bool
    """Last season's threshold lies in this season's interval."""
    verdict: Verdict
    reason: str


def compare_seasons(last: Profile, this: Profile, *, alpha: float = 0.05) -> SeasonComparison:
    """ "keep" where the thresholds are not told apart and last season's lies in this season's interval.

    Profiles of different models or IoU targets are never comparable: their verdict is "recalibrate".
    """
    difference = this.threshold - last.threshold
    sigma = math.hypot(last.uncertainty.sigma_units, this.uncertainty.sigma_units)
    z = difference / sigma if sigma > 0 else math.copysign(math.inf, difference) if difference else 0.0
    p_value = 2 * float(ndtr(-abs(z)))
    low, high = this.uncertainty.interval
    inside = low <= last.threshold <= high
    verdict, reason = _verdict(last, this, p_value, inside, alpha)
    return SeasonComparison(difference, sigma, z, p_value, inside, verdict, reason)


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
