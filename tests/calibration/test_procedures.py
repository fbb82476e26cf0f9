"""Risk control, best F1, planning, bands and the comparison of seasons."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.stats
from calibration_data import draw_session, make_profile
from hypothesis import given
from hypothesis import strategies as st

from edgekit.calibration import CalibrationRefused, FitSettings, Pairs, Reason, fit_threshold
from edgekit.calibration.bands import fit_bands
from edgekit.calibration.compare import compare_seasons, welch
from edgekit.calibration.f1 import best_f1
from edgekit.calibration.planning import plan_labels, sigma_curve
from edgekit.calibration.risk import GRID, STARTS, control_risk, counts_above, share_p_values, walk_down
from edgekit.errors import SettingsError


def single_tiles(n: int) -> np.ndarray:
    return np.array([f"t{i:04d}" for i in range(n)])


@given(n=st.integers(1, 300), share=st.floats(0.5, 0.99), data=st.data())
def test_p_value_is_the_binomial_tail(n, share, data):
    good = data.draw(st.integers(0, n))
    found = share_p_values(np.array([float(n)]), np.array([float(good)]), share, np.ones(1))[0]
    assert found == pytest.approx(scipy.stats.binom.sf(good - 1, n, share), abs=1e-9)


def test_counts_above_are_plain_counts(session):
    grid = np.array(GRID)
    kept, good, effect = counts_above(session, 0.5, grid)
    for at in (0, 17, 50, 94):
        above = session.confidence >= grid[at]
        assert kept[at] == above.sum()
        assert good[at] == (above & (session.iou >= 0.5)).sum()
    assert (effect >= 1).all()


def test_levels_are_never_spent_twice():
    grid = np.array(GRID)
    assert walk_down(grid, np.zeros(len(grid)), 0.1)[: int(np.searchsorted(grid, STARTS[0])) + 1].all()
    alone = np.full(len(grid), 1.0)
    alone[np.searchsorted(grid, 0.7 - 1e-9)] = 0.021
    assert not walk_down(grid, alone, 0.1).any()  # a start alone has 0.1 / 5
    alone[np.searchsorted(grid, 0.8 - 1e-9) :] = 0.0
    alone[np.searchsorted(grid, 0.7) : np.searchsorted(grid, 0.8)] = 0.0
    assert walk_down(grid, alone, 0.1)[np.searchsorted(grid, 0.7 - 1e-9)]  # handed on from above


def test_a_controlled_threshold_keeps_good_masks():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.05, 1, 600)
    y = np.where(rng.uniform(size=600) < x, 0.8, 0.2)
    found = control_risk(Pairs(x, y, single_tiles(600)), 0.5, good_share=0.8, delta=0.1)
    assert found.good / found.kept > 0.8
    assert 0.6 <= found.threshold < 0.9
    assert "drawn alike" in found.assumption
    stricter = control_risk(Pairs(x, y, single_tiles(600)), 0.5, good_share=0.85, delta=0.1)
    assert stricter.threshold >= found.threshold


def test_risk_control_without_enough_labels_is_refused(session):
    few = session.select(np.arange(12))
    with pytest.raises(CalibrationRefused) as caught:
        control_risk(few, 0.5, good_share=0.95)
    assert caught.value.reason is Reason.TARGET_NOT_REACHED
    with pytest.raises(SettingsError):
        control_risk(session, 0.5, good_share=95)


def test_alike_predictions_count_less():
    pairs = draw_session(2, spread=0.3)
    tight, loose = (control_risk_or_one(pairs, by_tile) for by_tile in (True, False))
    assert tight >= loose


def control_risk_or_one(pairs: Pairs, by_tile: bool) -> float:
    try:
        return control_risk(pairs, 0.5, good_share=0.7, by_unit=by_tile).threshold
    except CalibrationRefused:
        return 1.0


def test_best_f1_by_hand():
    x = np.array([0.9, 0.8, 0.7, 0.3])
    hit = np.array([True, True, False, True])
    best = best_f1(x, hit, 3)
    # at 0.71 to 0.80: 2 TP of 2, 3 labels -> 4/5; at 0.30 and below: 3 TP of 4 -> 6/7
    assert best.f1 == pytest.approx(6 / 7)
    assert best.threshold == pytest.approx(0.30)  # the highest of the equal ones
    assert (best.precision, best.recall) == (0.75, 1.0)
    assert best_f1(np.zeros(0), np.zeros(0, bool), 0) is None
    assert best_f1(np.zeros(0), np.zeros(0, bool), 4).f1 == 0


def test_planning_follows_the_square_root(session):
    fit = fit_threshold(session, 0.5)
    now = fit.uncertainty.sigma_units
    plan = plan_labels(fit, now / 2)
    assert plan.tiles_needed == pytest.approx(4 * fit.tiles, abs=1)
    assert plan.more_tiles == plan.tiles_needed - fit.tiles
    assert plan.tiles_needed_singly < plan.tiles_needed * fit.n / fit.tiles
    assert plan_labels(fit, 2 * now).more_tiles == 0
    curve = sigma_curve(fit, [fit.n, 4 * fit.n])
    assert curve[0][1:] == pytest.approx((fit.uncertainty.sigma, now))
    assert curve[1][2] == pytest.approx(now / 2)
    with pytest.raises(SettingsError):
        plan_labels(fit, 0)


def with_height_effect(effect: float, seed: int = 5) -> Pairs:
    pairs = draw_session(seed, tiles=80)
    lowered = np.clip(pairs.iou - effect * (pairs.height < 0.5), 0, 1)
    return Pairs(pairs.confidence, lowered, pairs.tile, pairs.height)


def test_bands_that_differ_are_kept_apart():
    pairs = with_height_effect(0.25)
    result = fit_bands(pairs, fit_threshold(pairs, 0.5), (0, 0.5, 1))
    assert result.separate
    assert result.p_value < 0.001
    top, bottom = result.bands
    assert top.threshold > bottom.threshold + 0.2
    assert 0.8 < top.own_weight <= 1


def test_bands_that_do_not_differ_share_a_threshold():
    p_values = []
    for seed in range(40):
        pairs = draw_session(100 + seed, tiles=40)
        pooled = fit_threshold(pairs, 0.5)
        result = fit_bands(pairs, pooled, (0, 0.5, 1), settings=FitSettings(draws=199))
        p_values.append(result.p_value)
        if not result.separate:
            assert {band.threshold for band in result.bands} == {pooled.threshold}
    assert np.mean(np.array(p_values) < 0.05) <= 0.15


def test_a_band_with_few_labels_is_drawn_to_the_common_threshold():
    pairs = with_height_effect(0.25)
    few = np.flatnonzero(pairs.height < 0.5)[40:]
    kept = pairs.select(np.setdiff1d(np.arange(len(pairs)), few))
    result = fit_bands(kept, fit_threshold(kept, 0.5), (0, 0.5, 1))
    rich = fit_bands(pairs, fit_threshold(pairs, 0.5), (0, 0.5, 1))
    assert result.bands[0].own_weight < rich.bands[0].own_weight


def test_an_empty_band_gets_the_common_threshold():
    pairs = draw_session(5, tiles=60)
    low = pairs.select(pairs.height > 0.5)
    pooled = fit_threshold(low, 0.5)
    result = fit_bands(low, pooled, (0, 0.5, 1))
    assert result.p_value is None
    assert result.bands[0].threshold == pooled.threshold
    assert "0 pairs" in result.bands[0].refusal


@pytest.mark.parametrize("edges", [(0, 1), (0, 0.6, 0.4, 1), (0.1, 0.5, 1), (0, 0.5, 0.9)])
def test_edges_that_cannot_be(session, edges):
    with pytest.raises(SettingsError):
        fit_bands(session, fit_threshold(session, 0.5), edges)


def test_welch_is_that_of_scipy():
    a, b = np.random.default_rng(0).normal(0, 1, 9), np.random.default_rng(1).normal(0.5, 2, 14)
    peer = scipy.stats.ttest_ind(a, b, equal_var=False)
    errors = [(float(x.std(ddof=1) / np.sqrt(len(x))), len(x)) for x in (a, b)]
    assert welch(float(a.mean() - b.mean()), *errors) == pytest.approx((peer.statistic, peer.df, peer.pvalue))


def test_seasons_that_agree_and_seasons_that_do_not():
    last, alike, other = (
        make_profile(draw_session(seed, slope=slope)) for seed, slope in ((1, 0.8), (2, 0.8), (3, 0.6))
    )
    assert compare_seasons(last, alike).verdict == "keep"
    found = compare_seasons(last, other)
    assert found.verdict == "recalibrate"
    assert found.difference == pytest.approx(other.threshold - last.threshold)
    assert found.p_value < 0.001
    other_model = dataclasses.replace(alike, model_id="b" * 64)
    assert "another model" in compare_seasons(last, other_model).reason
    other_target = dataclasses.replace(alike, iou_target=0.6)
    assert "targets differ" in compare_seasons(last, other_target).reason
