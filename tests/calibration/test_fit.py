"""The fit as a whole: its figures belong together, and each thing that can be wrong has its own refusal."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from calibration_data import draw_session

from edgekit.calibration import CalibrationRefused, FitSettings, Pairs, Reason, fit_threshold, fit_thresholds
from edgekit.calibration.checks import check_line
from edgekit.errors import CalibrationError, SettingsError


def names(n: int, per_tile: int = 2) -> np.ndarray:
    return np.array([f"t{i // per_tile:03d}" for i in range(n)])


def refusal_of(pairs: Pairs, target: float = 0.5, **settings: object) -> CalibrationRefused:
    with pytest.raises(CalibrationRefused) as caught:
        fit_threshold(pairs, target, settings=FitSettings(**settings))
    assert isinstance(caught.value, CalibrationError)
    assert caught.value.mend
    return caught.value


def test_figures_of_a_fit_belong_together(session):
    fit = fit_threshold(session, 0.5)
    error = fit.uncertainty
    assert fit.b0 + fit.b1 * fit.threshold == pytest.approx(0.5)
    assert fit.r_squared == pytest.approx(fit.r**2)
    assert fit.r_interval.low < fit.r < fit.r_interval.high
    for interval in (error.fieller, error.unit_fieller, error.bootstrap):
        assert fit.threshold in interval
        assert error.acted.low <= interval.low
        assert interval.high <= error.acted.high
    assert error.sigma == pytest.approx(error.sigma_propagated, rel=1e-12)
    assert error.design_effect > 1  # the session's tiles differ
    assert sum(row.pairs for row in fit.influence) == fit.n == len(session)


def test_the_same_seed_gives_the_same_figures(session):
    assert dataclasses.asdict(fit_threshold(session, 0.5)) == dataclasses.asdict(fit_threshold(session, 0.5))
    other = fit_threshold(session, 0.5, settings=FitSettings(seed=1))
    assert other.uncertainty.bootstrap != fit_threshold(session, 0.5).uncertainty.bootstrap


def test_the_order_of_pairs_does_not_matter(session):
    shuffled = session.select(np.random.default_rng(0).permutation(len(session)))
    a, b = fit_threshold(session, 0.5), fit_threshold(shuffled, 0.5)
    assert b.threshold == pytest.approx(a.threshold, rel=1e-12)
    assert b.uncertainty.acted == pytest.approx(a.uncertainty.acted, rel=1e-9)


def test_several_targets_at_once(session):
    fits = fit_thresholds(session, (0.4, 0.5, 0.99))
    assert fits[0.4].threshold < fits[0.5].threshold
    assert fits[0.99].reason is Reason.OUTSIDE_UNIT


def test_pairs_below_the_floor_are_left_out_and_counted(session):
    fit = fit_threshold(session, 0.5, settings=FitSettings(score_floor=0.2))
    assert fit.below_floor == (session.confidence < 0.2).sum() > 0
    assert fit.n == len(session) - fit.below_floor


@pytest.mark.parametrize(("bad", "reason"), [(np.nan, Reason.NOT_FINITE), (1.2, Reason.NOT_A_SHARE)])
@pytest.mark.parametrize("column", ["confidence", "iou"])
def test_values_that_are_no_shares(bad, reason, column):
    values = {"confidence": np.linspace(0.1, 0.9, 20), "iou": np.linspace(0.1, 0.9, 20)}
    values[column][7] = bad
    with pytest.raises(CalibrationRefused, match="pair 8") as caught:
        Pairs(**values, tile=names(20))
    assert caught.value.reason is reason


def test_too_few_pairs():
    x = np.linspace(0.1, 0.9, 9)
    assert refusal_of(Pairs(x, x, names(9, 1))).reason is Reason.TOO_FEW_PAIRS
    assert refusal_of(Pairs(np.zeros(0), np.zeros(0), np.zeros(0, np.str_))).reason is Reason.TOO_FEW_PAIRS


def test_too_few_tiles():
    x = np.linspace(0.1, 0.9, 20)
    assert refusal_of(Pairs(x, x, names(20, 10))).reason is Reason.TOO_FEW_TILES


def test_constant_confidence():
    y = np.linspace(0.1, 0.9, 20)
    assert refusal_of(Pairs(np.full(20, 0.5), y, names(20))).reason is Reason.CONSTANT_CONFIDENCE


def test_constant_iou():
    x = np.linspace(0.1, 0.9, 20)
    assert refusal_of(Pairs(x, np.ones(20), names(20))).reason is Reason.CONSTANT_IOU


def test_falling_line():
    x = np.linspace(0.1, 0.9, 20)
    assert refusal_of(Pairs(x, 1 - 0.5 * x, names(20))).reason is Reason.NEGATIVE_SLOPE


def test_slope_that_is_not_told_from_zero():
    rng = np.random.default_rng(6)
    x = rng.uniform(0.1, 0.9, 30)
    y = np.clip(0.5 + 0.3 * (x - 0.5) + rng.normal(0, 0.3, 30), 0, 1)
    refusal = refusal_of(Pairs(x, y, names(30)))
    assert refusal.reason is Reason.UNBOUNDED
    assert "times as many labels" in refusal.mend


def test_threshold_that_is_no_confidence():
    x = np.linspace(0.06, 0.95, 40)
    y = 0.2 + 0.1 * x + 0.01 * np.sin(50 * x)
    assert refusal_of(Pairs(x, y, names(40))).reason is Reason.OUTSIDE_UNIT


def test_threshold_outside_the_data():
    x = np.linspace(0.06, 0.5, 40)
    y = 0.1 + 0.5 * x + 0.01 * np.sin(50 * x)  # reaches 0.5 at 0.8
    refusal = refusal_of(Pairs(x, y, names(40)))
    assert refusal.reason is Reason.OUTSIDE_DATA
    assert "0.500" in str(refusal)


@pytest.mark.parametrize("target", [0.0, 1.0, -0.2, 50.0])
def test_a_target_that_is_no_iou(session, target):
    with pytest.raises(SettingsError):
        fit_threshold(session, target)


def with_unlabelled_fruit(share: float) -> Pairs:
    good = draw_session(3)
    bad = int(share * len(good) / (1 - share))
    rng = np.random.default_rng(0)
    outliers = Pairs(rng.uniform(0.85, 0.95, bad), np.zeros(bad), np.array(["tile004"] * bad), np.full(bad, 0.5))
    return Pairs.concatenate([good, outliers])


def test_unlabelled_fruit_is_refused_and_its_tile_named():
    assert refusal_of(with_unlabelled_fruit(0.08)).reason is Reason.UNBOUNDED
    assert "tile004" in str(refusal_of(with_unlabelled_fruit(0.08)))
    refusal = refusal_of(with_unlabelled_fruit(0.3))
    assert refusal.reason is Reason.TOO_FEW_INLIERS
    assert "tile004" in str(refusal)


def test_a_fit_without_the_suspects_is_the_fit_of_the_rest_every_time():
    pairs, settings = with_unlabelled_fruit(0.3), FitSettings(leave_out_suspects=True)
    fits = [fit_threshold(pairs, 0.5, settings=settings) for _ in range(5)]
    assert len({fit.threshold for fit in fits}) == 1
    assert fits[0].threshold == pytest.approx(fit_threshold(draw_session(3), 0.5).threshold, rel=1e-12)
    assert "left out" in fits[0].rule
    assert fits[0].suspects > 0


def test_mostly_unlabelled_fruit_is_refused_even_so():
    refusal = refusal_of(with_unlabelled_fruit(0.6), leave_out_suspects=True)
    assert refusal.reason is Reason.TOO_FEW_INLIERS


def test_a_tile_with_unlabelled_fruit_leads_the_influence():
    fit = fit_threshold(with_unlabelled_fruit(0.025), 0.5)
    assert fit.influence[0].tile == "tile004"
    assert fit.influence[0].suspects == fit.suspects > 0
    assert any("overlap no label" in warning for warning in fit.warnings)


def test_unmatched_predictions_lower_the_line_and_the_result_says_so():
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(0.3, 0.95, 50), np.full(50, 0.3)])
    y = np.concatenate([0.7 + 0.2 * x[:50] + rng.normal(0, 0.02, 50), np.zeros(50)])
    fit = fit_threshold(Pairs(x, y, names(100, 4)), 0.6)
    assert fit.overlapping_only is not None
    assert fit.threshold - fit.overlapping_only > 0.2
    assert "0 where it overlaps none" in fit.rule


def test_a_bent_relation_is_named():
    rng = np.random.default_rng(2)
    x = rng.uniform(0.05, 0.98, 200)
    y = np.clip(np.where(x < 0.45, 0.05, 0.9) + rng.normal(0, 0.03, 200), 0, 1)
    fit = fit_threshold(Pairs(x, y, names(200, 4)), 0.5)
    assert any("bent" in warning for warning in fit.warnings)
    assert fit.checks.monotone_threshold == pytest.approx(0.45, abs=0.03)


@pytest.mark.parametrize(
    ("shift", "told"),
    [(0.0, "stays below IoU 0.5 up to"), (0.8, "reaches IoU 0.5 from 0.050 on, the lowest confidence seen")],
)
def test_a_monotone_threshold_outside_the_data_is_noted(shift, told):
    x = np.linspace(0.05, 0.5, 40)
    checks = check_line(x, 0.3 * x + shift, 0.5)
    assert told in checks.monotone_reason


def test_a_monotone_threshold_outside_the_interval_is_noted_even_where_the_line_is_not_refuted(session):
    fit = fit_threshold(session, 0.5)
    assert fit.checks.straight_p > 0.05
    assert fit.checks.monotone_threshold in fit.uncertainty.acted
    assert not any("bent" in warning for warning in fit.warnings)
    rng = np.random.default_rng(0)
    x = rng.uniform(0.05, 0.98, 60)
    pairs = Pairs(x, np.clip(0.1 + 0.8 * x + rng.normal(0, 0.06, 60), 0, 1), names(60))
    odd = fit_threshold(pairs, 0.5)
    assert odd.checks.straight_p > 0.05
    assert odd.checks.monotone_threshold not in odd.uncertainty.acted
    assert any("may be bent" in warning for warning in odd.warnings)


def test_pairs_that_all_lie_on_the_line_have_a_point_for_an_interval_and_are_doubted():
    x = np.linspace(0.1, 0.9, 60)
    fit = fit_threshold(Pairs(x, x, names(60)), 0.5)
    assert fit.threshold == pytest.approx(0.5)
    assert fit.uncertainty.acted == pytest.approx((0.5, 0.5), abs=1e-9)
    assert any("copy of the confidence" in warning for warning in fit.warnings)
