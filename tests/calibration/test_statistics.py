"""The statistics against scipy, statsmodels, textbooks and themselves by another way."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from edgekit.calibration.bootstrap import bootstrap_units, draw_weights
from edgekit.calibration.checks import even_scatter_p, monotone_fit, monotone_threshold, straight_p
from edgekit.calibration.clusters import unit_estimate
from edgekit.calibration.correlation import correlation_p_value, fisher_interval
from edgekit.calibration.fieller import fieller_bounds, independent_estimate
from edgekit.calibration.moments import moments_of, sums_by
from edgekit.calibration.pairs import Pairs
from edgekit.calibration.regression import fit_line, pearson_r, solve
from edgekit.calibration.sigma import sigma_by_propagation, sigma_closed_form

# Pounds of steam against average temperature, 25 months: Draper and Smith, Applied Regression Analysis, appendix.
STEAM = np.array([
    10.98, 11.13, 12.51, 8.40, 9.27, 8.73, 6.36, 8.50, 7.82, 9.14, 8.24, 12.19, 11.88,
    9.57, 10.94, 9.58, 10.09, 8.11, 6.83, 8.88, 7.68, 8.47, 8.86, 10.36, 11.08,
])  # fmt: skip
TEMPERATURE = np.array([
    35.3, 29.7, 30.8, 58.8, 61.4, 71.3, 74.4, 76.7, 70.7, 57.5, 46.4, 28.9, 28.1,
    39.1, 46.8, 48.5, 59.3, 70.0, 70.0, 74.5, 72.1, 58.1, 44.6, 33.4, 28.6,
])  # fmt: skip


def draw_pairs(seed: int, n: int = 60, tiles: int = 12, noise: float = 0.15) -> Pairs:
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.05, 0.95, n)
    y = np.clip(0.1 + 0.7 * x + noise * rng.standard_normal(n), 0, 1)
    return Pairs(x, y, np.array([f"t{i:02d}" for i in rng.integers(0, tiles, n)]))


def test_line_and_correlation_are_those_of_scipy():
    pairs = draw_pairs(1)
    moments = moments_of(pairs.confidence, pairs.iou)
    line, peer = fit_line(moments), scipy.stats.linregress(pairs.confidence, pairs.iou)
    assert float(line.b0) == pytest.approx(peer.intercept, rel=1e-12)
    assert float(line.b1) == pytest.approx(peer.slope, rel=1e-12)
    r, n = float(pearson_r(moments)), len(pairs)
    peer_r = scipy.stats.pearsonr(pairs.confidence, pairs.iou)
    assert r == pytest.approx(peer_r.statistic, rel=1e-12)
    assert correlation_p_value(r, n) == pytest.approx(peer_r.pvalue, rel=1e-9)
    assert fisher_interval(r, n) == pytest.approx(tuple(peer_r.confidence_interval(0.95)), rel=1e-9)


def test_a_falling_relation_keeps_its_sign():
    x = np.linspace(0.1, 0.9, 30)
    y = np.clip(0.9 - 0.8 * x + 0.1 * np.sin(40 * x), 0, 1)
    r = float(pearson_r(moments_of(x, y)))
    assert r == pytest.approx(np.corrcoef(x, y)[0, 1], rel=1e-12)
    assert r < -0.8


def test_covariances_are_those_of_statsmodels():
    api = pytest.importorskip("statsmodels.api")
    pairs = draw_pairs(2)
    moments = moments_of(pairs.confidence, pairs.iou)
    x = pairs.confidence - pairs.confidence.mean()
    peer = api.OLS(pairs.iou, api.add_constant(x)).fit()
    ours = independent_estimate(moments)
    mine = [[ours.var_value, ours.cov], [ours.cov, ours.var_slope]]
    np.testing.assert_allclose(np.array(mine, float), peer.cov_params(), rtol=1e-9, atol=1e-18)
    # With every pair a tile of its own the jackknife over tiles is HC3, up to the factor (G - 1) / G.
    alone = Pairs(pairs.confidence, pairs.iou, np.array([f"{i:03d}" for i in range(len(pairs))]))
    robust = unit_estimate(sums_by(alone, alone.by_tile))
    peer_hc3 = peer.get_robustcov_results("HC3").cov_params() * (len(pairs) - 1) / len(pairs)
    mine = [[robust.var_value, robust.cov], [robust.cov, robust.var_slope]]
    np.testing.assert_allclose(np.array(mine, float), peer_hc3, rtol=1e-9, atol=1e-18)


def test_jackknife_over_tiles_is_what_refitting_gives():
    pairs = draw_pairs(3)
    without = fit_line(sums_by(pairs, pairs.by_tile).without_each())
    for i, name in enumerate(pairs.by_tile.names):
        rest = pairs.select(pairs.tile != name)
        peer = np.polyfit(rest.confidence, rest.iou, 1)
        assert (float(without.b1[i]), float(without.b0[i])) == pytest.approx(tuple(peer), rel=1e-9)


def test_textbook_line_and_fieller_in_closed_form():
    moments = moments_of(TEMPERATURE, STEAM)
    line = fit_line(moments)
    assert float(line.b0) == pytest.approx(13.623, abs=5e-4)  # as printed in the book
    assert float(line.b1) == pytest.approx(-0.0798, abs=5e-5)
    n, target = len(STEAM), 10.0
    sxx = np.sum((TEMPERATURE - TEMPERATURE.mean()) ** 2)
    s2 = np.sum((STEAM - line.at(TEMPERATURE)) ** 2) / (n - 2)
    assert s2 == pytest.approx(0.7923, abs=5e-5)
    t = scipy.stats.t.ppf(0.975, n - 2)
    g = t**2 * s2 / (float(line.b1) ** 2 * sxx)
    away = float(solve(line, target)) - TEMPERATURE.mean()
    half = t * np.sqrt(s2) / abs(float(line.b1)) * np.sqrt(away**2 / sxx + (1 - g) / n)
    ends = [TEMPERATURE.mean() + (away + sign * half) / (1 - g) for sign in (-1, 1)]
    bounds = fieller_bounds(independent_estimate(moments), target)
    assert [float(bounds.low), float(bounds.high)] == pytest.approx(ends, rel=1e-9)


@given(seed=st.integers(0, 10_000), target=st.floats(0.2, 0.7), by_tile=st.booleans())
def test_fieller_inverts_the_confidence_band(seed, target, by_tile):
    pairs = draw_pairs(seed)
    moments = moments_of(pairs.confidence, pairs.iou)
    estimate = unit_estimate(sums_by(pairs, pairs.by_tile)) if by_tile else independent_estimate(moments)
    bounds = fieller_bounds(estimate, target)
    if not bounds.bounded:
        return
    t = scipy.stats.t.ppf(0.975, float(estimate.df))

    def band_touches(x: float) -> float:
        u = x - float(estimate.centre_x)
        spread = float(estimate.var_value + 2 * u * estimate.cov + u * u * estimate.var_slope)
        return abs(target - float(estimate.value) - float(estimate.slope) * u) - t * np.sqrt(spread)

    assert band_touches(float(bounds.low)) == pytest.approx(0, abs=1e-9)
    assert band_touches(float(bounds.high)) == pytest.approx(0, abs=1e-9)
    assert band_touches(float(solve(fit_line(moments), target))) < 0


def test_a_slope_that_is_not_told_from_zero_gives_no_ends():
    rng = np.random.default_rng(5)
    x, y = rng.uniform(0.1, 0.9, 12), rng.uniform(0.1, 0.9, 12)
    moments = moments_of(x, y)
    assert scipy.stats.linregress(x, y).pvalue > 0.05
    assert not fieller_bounds(independent_estimate(moments), 0.5).bounded


@given(seed=st.integers(0, 10_000), target=st.floats(0.05, 0.95), noise=st.floats(0.01, 0.5))
def test_equations_4_and_7_agree(seed, target, noise):
    pairs = draw_pairs(seed, noise=noise)
    moments = moments_of(pairs.confidence, pairs.iou)
    if abs(float(pearson_r(moments))) < 0.05:
        return
    long_way, closed = float(sigma_by_propagation(moments, target)), float(sigma_closed_form(moments, target))
    assert long_way == pytest.approx(closed, rel=1e-12, abs=1e-12)


def test_checks_are_those_of_statsmodels():
    api = pytest.importorskip("statsmodels.api")
    diagnostic = pytest.importorskip("statsmodels.stats.diagnostic")
    pairs = draw_pairs(7)
    x, y = pairs.confidence, pairs.iou
    straight = api.OLS(y, api.add_constant(x)).fit()
    assert even_scatter_p(x, y) == pytest.approx(
        diagnostic.het_breuschpagan(straight.resid, api.add_constant(x))[1], rel=1e-8
    )
    bent = api.OLS(y, np.stack([np.ones_like(x), x, x * x], axis=1)).fit()
    assert straight_p(x, y) == pytest.approx(bent.compare_f_test(straight)[1], rel=1e-8)


def test_a_bent_relation_is_seen():
    x = np.linspace(0.05, 0.95, 80)
    y = np.where(x < 0.6, 0.05, 0.9)
    assert straight_p(x, y) < 0.01
    assert monotone_threshold(x, y, 0.5) == pytest.approx(x[x >= 0.6][0])
    assert monotone_threshold(x, 0.4 * x, 0.5) is None


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.3, 0.5, 0.9]), st.floats(0, 1)), min_size=1, max_size=30))
def test_monotone_fit_rises_and_keeps_the_mean(points):
    x, y = (np.array(column) for column in zip(*points, strict=True))
    steps, fitted = monotone_fit(x, y)
    assert (np.diff(fitted) >= -1e-12).all()
    at_each = fitted[np.searchsorted(steps, x)]
    assert at_each.mean() == pytest.approx(y.mean(), abs=1e-9)


def test_bootstrap_over_tiles_is_that_of_scipy():
    pairs = draw_pairs(9, n=150, tiles=25)
    sums = sums_by(pairs, pairs.by_tile)

    def threshold(drawn, axis=-1):
        moments = sums.weighted(
            np.stack([np.bincount(row, minlength=sums.groups) for row in drawn.reshape(-1, drawn.shape[-1])])
        )
        return solve(fit_line(moments), 0.5).reshape(drawn.shape[:-1])

    peer = scipy.stats.bootstrap(
        (np.arange(sums.groups),),
        threshold,
        n_resamples=6000,
        method="BCa",
        rng=np.random.default_rng(0),
        vectorized=True,
    )
    ours = bootstrap_units(sums, 0.5, draw_weights(sums.groups, 6000, seed=0).astype(float))
    width = peer.confidence_interval.high - peer.confidence_interval.low
    assert float(ours.bounds.low) == pytest.approx(peer.confidence_interval.low, abs=0.06 * width)
    assert float(ours.bounds.high) == pytest.approx(peer.confidence_interval.high, abs=0.06 * width)
    assert float(ours.sigma) == pytest.approx(peer.standard_error, rel=0.05)
