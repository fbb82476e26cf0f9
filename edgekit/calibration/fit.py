"""From pairs to a threshold with its uncertainty, or to a refusal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from edgekit.calibration.bootstrap import UnitBootstrap, bootstrap_units, draw_weights
from edgekit.calibration.checks import LineChecks, check_line
from edgekit.calibration.clusters import unit_estimate
from edgekit.calibration.correlation import correlation_p_value, fisher_interval
from edgekit.calibration.fieller import Bounds, fieller_bounds, independent_estimate, sigma_of, slope_doubt
from edgekit.calibration.gates import (
    require_acted_interval,
    require_fair_pairs,
    require_place_for_threshold,
    require_rising_line,
)
from edgekit.calibration.influence import TileInfluence, influence_of_tiles, suspect_rows
from edgekit.calibration.moments import GroupSums, Moments, moments_of, sums_by
from edgekit.calibration.pairs import Pairs
from edgekit.calibration.refusal import CalibrationRefused
from edgekit.calibration.regression import fit_line, pearson_r, solve
from edgekit.calibration.results import Interval, ThresholdFit, Uncertainty
from edgekit.calibration.settings import FitSettings
from edgekit.calibration.sigma import sigma_by_propagation, sigma_closed_form
from edgekit.errors import SettingsError
from edgekit.wording import counted

PAIRING_RULE = (
    "every prediction at or above the score floor, with its best mask IoU over the labels of its tile, "
    "0 where it overlaps none, ties by label id"
)

EXACT = 1e-9
"""R within this of 1 is no relation that was measured."""
FEW_PAIRS = 20
"""Among the sessions that give a threshold, the acted interval covers 93 to 94 % at R = 0.57 and 85 to 91 % at R = 0.3
with 10 pairs, 96 % and 92 to 94 % with 20 (bench/calibration/coverage.py)."""


@dataclass(frozen=True, eq=False)
class _Case:
    """What every stage of a fit looks at."""

    given: Pairs
    used: Pairs
    iou_target: float
    settings: FitSettings
    moments: Moments
    sums: GroupSums

    @property
    def threshold(self) -> float:
        return float(solve(fit_line(self.moments), self.iou_target))


def fit_threshold(pairs: Pairs, iou_target: float, *, settings: FitSettings | None = None) -> ThresholdFit:
    """Fit the line, solve it for the target and gather what is known of the error.

    Args:
        pairs: predictions of the labelled tiles.
        iou_target: y_th, between 0 and 1.
        settings: limits, levels and seed.

    Raises:
        CalibrationRefused: the pairs carry no threshold; `reason` is typed.
        SettingsError: a target that is no IoU.
    """
    settings = settings or FitSettings()
    require_iou_target(iou_target)
    used = _used_pairs(pairs, settings)
    require_fair_pairs(used, pairs, settings)
    moments = moments_of(used.confidence, used.iou)
    require_rising_line(used, moments)
    case = _Case(pairs, used, iou_target, settings, moments, sums_by(used, used.by_unit))
    influence = influence_of_tiles(used, iou_target, settings)
    resampled = _bootstrap(case)
    bounds = _all_bounds(case, resampled)
    require_acted_interval(bounds, influence, _slope_doubt(case), settings.level)
    require_place_for_threshold(used, case.threshold, iou_target)
    return _result(case, _uncertainty(case, bounds, resampled), influence)


def fit_thresholds(
    pairs: Pairs, iou_targets: Sequence[float], *, settings: FitSettings | None = None
) -> dict[float, ThresholdFit | CalibrationRefused]:
    """Several targets at once; a target that is refused has its refusal as value."""
    return {target: fit_or_refusal(pairs, target, settings) for target in iou_targets}


def require_iou_target(iou_target: float) -> None:
    """Pass where the target is an IoU that can be reached and missed.

    Raises:
        SettingsError: it is not.
    """
    if not 0 < iou_target < 1:
        raise SettingsError(f"the IoU target must lie between 0 and 1, got {iou_target:g}", mend="try 0.5")


def fit_or_refusal(pairs: Pairs, iou_target: float, settings: FitSettings | None) -> ThresholdFit | CalibrationRefused:
    """`fit_threshold`, with a refusal as an answer.

    Raises:
        SettingsError: a target that is no IoU.
    """
    try:
        return fit_threshold(pairs, iou_target, settings=settings)
    except CalibrationRefused as refusal:
        return refusal


def _used_pairs(pairs: Pairs, settings: FitSettings) -> Pairs:
    used = pairs.select(pairs.confidence >= settings.score_floor)
    return used.select(~suspect_rows(used, settings)) if settings.leave_out_suspects else used


def _bootstrap(case: _Case) -> UnitBootstrap:
    weights = draw_weights(case.sums.groups, case.settings.draws, case.settings.seed)
    return bootstrap_units(case.sums, case.iou_target, weights, case.settings.level)


def _slope_doubt(case: _Case) -> float:
    estimates = (independent_estimate(case.moments), unit_estimate(case.sums))
    return max(float(slope_doubt(estimate, case.settings.level)) for estimate in estimates)


def _all_bounds(case: _Case, resampled: UnitBootstrap) -> dict[str, Bounds]:
    level = case.settings.level
    return {
        "fieller": fieller_bounds(independent_estimate(case.moments), case.iou_target, level),
        "unit_fieller": fieller_bounds(unit_estimate(case.sums), case.iou_target, level),
        "bootstrap": resampled.bounds,
    }


def _uncertainty(case: _Case, bounds: dict[str, Bounds], resampled: UnitBootstrap) -> Uncertainty:
    sigma = float(sigma_closed_form(case.moments, case.iou_target))
    sigma_units = _sigma_units(case, resampled)
    ends = {name: Interval(float(found.low), float(found.high)) for name, found in bounds.items()}
    return Uncertainty(
        sigma=sigma,
        sigma_propagated=float(sigma_by_propagation(case.moments, case.iou_target)),
        sigma_units=sigma_units,
        sigma_t=sigma_units * float(stdtrit(case.sums.groups - 1, 0.975)) / 1.96,
        paper=Interval(case.threshold - 1.96 * sigma, case.threshold + 1.96 * sigma),
        acted=Interval(min(end.low for end in ends.values()), max(end.high for end in ends.values())),
        fieller=ends["fieller"],
        unit_fieller=ends["unit_fieller"],
        bootstrap=ends["bootstrap"],
    )


def _sigma_units(case: _Case, resampled: UnitBootstrap) -> float:
    """The larger of two figures for the spread between units, each of which can be too small where units are few."""
    units = case.sums.groups
    by_jackknife = float(sigma_of(unit_estimate(case.sums), case.iou_target))
    return max(by_jackknife, float(resampled.sigma) * float(np.sqrt(units / (units - 1))))


def _result(case: _Case, uncertainty: Uncertainty, influence: tuple[TileInfluence, ...]) -> ThresholdFit:
    used, moments, settings = case.used, case.moments, case.settings
    line, r = fit_line(moments), float(pearson_r(moments))
    interval = fisher_interval(r, len(used), settings.level)
    suspects = int(suspect_rows(case.given, settings).sum())
    checks = check_line(used.confidence, used.iou, case.iou_target)
    left_out = f"; {suspects} suspected unlabelled fruit left out" if settings.leave_out_suspects else ""
    return ThresholdFit(
        iou_target=case.iou_target,
        threshold=case.threshold,
        b0=float(line.b0),
        b1=float(line.b1),
        n=len(used),
        tiles=used.by_tile.number,
        units=used.by_unit.number,
        mean_confidence=float(moments.mean_x),
        var_confidence=float(moments.var_x),
        mean_iou=float(moments.mean_y),
        var_iou=float(moments.var_y),
        r=r,
        r_squared=r * r,
        r_interval=None if interval is None else Interval(*interval),
        p_value=correlation_p_value(r, len(used)),
        uncertainty=uncertainty,
        checks=checks,
        influence=influence,
        suspects=suspects,
        overlapping_only=_overlapping_only(used, case.iou_target),
        below_floor=int((case.given.confidence < settings.score_floor).sum()),
        rule=PAIRING_RULE + left_out,
        warnings=_warnings(case, checks, uncertainty, suspects),
    )


def _overlapping_only(pairs: Pairs, iou_target: float) -> float | None:
    kept = pairs.select(pairs.iou > 0)
    if len(kept) < 3:
        return None
    threshold = float(solve(fit_line(moments_of(kept.confidence, kept.iou)), iou_target))
    return threshold if np.isfinite(threshold) else None


def _about_monotone(case: _Case, checks: LineChecks, uncertainty: Uncertainty) -> Iterator[str]:
    """Where the monotone fit, which assumes no line, says something else than the line."""
    bent = checks.straight_p is not None and checks.straight_p < 1 - case.settings.level
    telling = (
        "the relation is bent" if bent else "the relation may be bent, though the pairs do not tell it from a line"
    )
    if checks.monotone_reason is not None:
        yield f"{checks.monotone_reason}: its threshold lies outside the data"
    elif checks.monotone_threshold not in uncertainty.acted:
        low, high = uncertainty.acted
        place = f"the monotone fit reaches IoU {case.iou_target:g} at {checks.monotone_threshold:.3f}"
        yield f"{telling}: {place}, outside {low:.3f} to {high:.3f}"


def _warnings(case: _Case, checks: LineChecks, uncertainty: Uncertainty, suspects: int) -> tuple[str, ...]:
    """What a person should know before acting on the threshold."""
    found = list(_about_monotone(case, checks, uncertainty))
    low, high = uncertainty.acted
    if suspects and not case.settings.leave_out_suspects:
        who = f"{counted(suspects, 'confident prediction')} overlap{'s' if suspects == 1 else ''} no label"
        found.append(f"{who}: fruit may be unlabelled there, look at the pictures")
    if float(pearson_r(case.moments)) > 1 - EXACT:
        found.append("every pair lies on the line, as no measurement does: is the IoU a copy of the confidence?")
    if len(case.used) < FEW_PAIRS:
        found.append(f"fewer than {FEW_PAIRS} pairs: the interval covers less than its level says")
    if low <= 0 or high >= 1:
        found.append(f"the interval {low:.3f} to {high:.3f} leaves 0 to 1: label more tiles")
    return tuple(found)
