"""Fits, profiles and comparisons in words and as plain JSON values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, is_dataclass
from enum import Enum
from typing import Any

from edgekit.calibration.bands import BandsResult
from edgekit.calibration.checks import LineChecks
from edgekit.calibration.compare import SeasonComparison
from edgekit.calibration.count_effect import CountEffect
from edgekit.calibration.planning import LabelPlan
from edgekit.calibration.profile import Profile
from edgekit.calibration.refusal import CalibrationRefused
from edgekit.calibration.results import ThresholdFit
from edgekit.wording import counted

SHOWN_TILES = 3
"""Most influential tiles that are named in a summary."""


def as_json(value: Any) -> Any:
    """Dataclasses, tuples and refusals as plain JSON values; a number that is not finite becomes null."""
    if isinstance(value, CalibrationRefused):
        return {"refused": value.reason.value, "what": value.what, "mend": value.mend}
    if is_dataclass(value) and not isinstance(value, type):
        return as_json(asdict(value))
    if isinstance(value, dict):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.value if isinstance(value, Enum) else value


def fit_lines(fit: ThresholdFit) -> Iterator[str]:
    """A fit for a terminal."""
    error = fit.uncertainty
    yield f"threshold {fit.threshold:.3f} for IoU {fit.iou_target:g}, {_ends(error.acted)} (95 %: all below)"
    p_value = "" if fit.p_value is None else f", p = {fit.p_value:.2g}"
    r_ends = "" if fit.r_interval is None else f" ({_ends(fit.r_interval, 2)})"
    yield f"  line       IoU = {fit.b0:.3f} + {fit.b1:.3f} x confidence, R = {fit.r:.3f}{r_ends}{p_value}"
    units = "" if fit.units == fit.tiles else f", {counted(fit.units, 'unit')}"
    yield f"  from       {counted(fit.n, 'pair')} in {counted(fit.tiles, 'tile')}{units}"
    over_units = f"{error.sigma_units:.4f} over units, {error.sigma_t:.4f} with Student's t"
    yield f"  sigma      {error.sigma:.4f} by equation 7; {over_units}"
    for name, ends in (("Fieller", error.fieller), ("by unit", error.unit_fieller), ("bootstrap", error.bootstrap)):
        yield f"  {name:10s} {_ends(ends)}"
    yield f"  monotone   {_monotone(fit.checks)} (no line assumed)"
    straight, even = _p(fit.checks.straight_p), _p(fit.checks.even_scatter_p)
    yield f"  checks     p = {straight} of a straight line, {even} of even scatter"
    top = [f"{row.tile} ({row.shift:+.4f})" for row in fit.influence[:SHOWN_TILES]]
    yield f"  influence  {', '.join(top)}"
    for warning in fit.warnings:
        yield f"  note       {warning}"


def plan_line(plan: LabelPlan) -> str:
    """What a wanted sigma costs."""
    if plan.more_tiles == 0:
        return f"sigma {plan.sigma_wanted:g} is reached: it is {plan.sigma_now:.4f} over units"
    likeness = f"design effect {plan.design_effect:.1f}"
    return (
        f"sigma {plan.sigma_wanted:g} needs {counted(plan.tiles_needed, 'tile')} like these, {plan.more_tiles} more "
        f"({likeness})"
    )


def bands_lines(bands: BandsResult) -> Iterator[str]:
    """Thresholds by height."""
    p_value = "" if bands.p_value is None else f" (p = {bands.p_value:.2g})"
    yield f"bands are kept {'apart' if bands.separate else 'together'}{p_value}"
    for band in bands.bands:
        own = "refused" if band.own_threshold is None else f"own {band.own_threshold:.3f}"
        place = f"height {band.top:.2f} to {band.bottom:.2f}"
        yield f"  {place}: {band.threshold:.3f} ({own}, weight {band.own_weight:.2f}, {counted(band.n, 'pair')})"


def count_line(effect: CountEffect) -> str:
    """The count of a run at a threshold and its ends."""
    ends = f"{effect.fruit_at_high} to {effect.fruit_at_low} over the threshold's interval"
    return f"{effect.fruit} fruit at {effect.threshold:.3f} ({ends}); {effect.fruit_before} at {effect.before:g} before"


def profile_lines(profile: Profile) -> Iterator[str]:
    """A profile for a terminal."""
    error, relation = profile.uncertainty, profile.relation
    known = [text for text in (profile.crop, profile.place, f"{profile.from_date} to {profile.to_date}") if text]
    yield f"season {profile.season}: {', '.join(known)}"
    yield f"  threshold  {profile.threshold:.3f} for IoU {profile.iou_target:g}, {_ends(error.interval)}"
    units = counted(relation.units, "unit")
    yield f"  sigma      {error.sigma:.4f} by equation 7; {error.sigma_units:.4f} over {units}"
    yield f"  line       IoU = {relation.b0:.3f} + {relation.b1:.3f} x confidence, R = {relation.r:.3f}"
    size = f"{counted(relation.n, 'pair')} in {counted(relation.tiles, 'tile')}"
    yield f"  from       {size}, labels {profile.labels.digest[:12]}"
    yield f"  model      {profile.model}, {profile.precision}, {profile.model_id[:12]}"
    for band in profile.bands:
        heights = f"height {band.top:.2f} to {band.bottom:.2f}"
        yield f"  band       {heights}: {band.threshold:.3f} ({counted(band.n, 'pair')})"
    for text in (*profile.warnings, *filter(None, [profile.notes])):
        yield f"  note       {text}"


def comparison_line(found: SeasonComparison) -> str:
    """A verdict with its reason."""
    figures = f"difference {found.difference:+.3f}, sigma {found.sigma:.3f}, t = {found.t:.2f}, p = {found.p_value:.2g}"
    return f"{found.verdict}: {found.reason} ({figures})"


def _monotone(checks: LineChecks) -> str:
    if checks.monotone_threshold is None:
        return "never reached"
    return f"{checks.monotone_threshold:.3f}" + (" or below" if checks.monotone_reason else "")


def _p(value: float | None) -> str:
    return "none" if value is None else f"{value:.2g}"


def _ends(interval: tuple[float, ...], digits: int = 3) -> str:
    return f"{interval[0]:.{digits}f} to {interval[1]:.{digits}f}"
