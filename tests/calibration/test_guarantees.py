"""The guarantees themselves, simulated with edgekit's own functions (fewer sessions than bench/calibration uses)."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from edgekit.calibration import CalibrationRefused, FitSettings, Pairs, Reason, fit_threshold

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "calibration"))
import coverage as coverage_study
import risk as risk_study
from simulate import Cell, draw_independent


def margin(share: float, sessions: int) -> float:
    """Four standard errors: one of some hundred figures exceeds them once in a hundred runs."""
    return 4 * float(np.sqrt(share * (1 - share) / sessions))


@pytest.mark.slow
@pytest.mark.parametrize("cell", coverage_study.GRID, ids=str)
def test_fieller_covers_its_level_over_all_sessions(cell):
    sessions = 4000
    result = coverage_study.study_independent(cell, sessions, draws=99, seed=1)
    assert result.procedures["Fieller"].all == pytest.approx(0.95, abs=margin(0.95, sessions))
    assert result.procedures["acted"].all >= 0.95 - margin(0.95, sessions)


@pytest.mark.slow
@pytest.mark.parametrize(("tiles", "cell"), coverage_study.TILE_GRID, ids=str)
def test_the_acted_interval_covers_where_tiles_are_alike(tiles, cell):
    sessions = 2000
    found = coverage_study.study_tiles(cell, tiles, sessions, draws=499, seed=1).procedures
    assert found["acted"].all >= 0.93 - margin(0.93, sessions)
    assert found["acted"].all > found["Fieller"].all  # the naive interval falls short


@pytest.mark.slow
@pytest.mark.parametrize("design", risk_study.DESIGNS, ids=str)
def test_risk_control_keeps_its_promise(design):
    result = risk_study.study(design, 500, seed=1)
    assert result.broken <= result.limit


def test_fieller_covers_in_one_cell():
    result = coverage_study.study_independent(Cell(50, 0.57, 0.5), 1500, draws=19, seed=2)
    assert result.procedures["Fieller"].all == pytest.approx(0.95, abs=margin(0.95, 1500))
    assert result.procedures["sigma"].width < result.procedures["acted"].width


def test_every_unbounded_set_is_refused():
    cell = Cell(20, 0.3, 0.0)
    x, y = (np.clip(values, 0.051, 1) for values in draw_independent(cell, 80, np.random.default_rng(0)))
    tile = np.array([f"t{i:02d}" for i in range(cell.n)])
    refused = 0
    for session in range(len(x)):
        pairs = Pairs(x[session], y[session], tile)
        sums = coverage_study.GroupSums(*(np.asarray(v) for v in _sums(pairs)))
        unbounded = not coverage_study.fieller_bounds(
            coverage_study.independent_estimate(sums.total()), cell.iou_target
        ).bounded
        if unbounded:
            refused += 1
            with pytest.raises(CalibrationRefused) as caught:
                fit_threshold(pairs, cell.iou_target, settings=FitSettings(draws=99))
            assert caught.value.reason in (Reason.UNBOUNDED, Reason.NEGATIVE_SLOPE)
    assert refused > 20


def _sums(pairs: Pairs) -> tuple[float, float, np.ndarray]:
    u, v = pairs.confidence - 0.5, pairs.iou - 0.5
    return 0.5, 0.5, np.stack([np.ones_like(u), u, v, u * u, u * v, v * v])
