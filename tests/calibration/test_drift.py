"""The drift test: false alarms stay below alpha, and a real shift is found."""

from __future__ import annotations

import numpy as np
import pytest
from calibration_data import draw_session

from edgekit.calibration.drift import DriftMonitor, DriftSettings, reference_of

REFERENCE = reference_of(draw_session(1, tiles=60))


def run_of_tiles(rng: np.random.Generator, tiles: int, low: float, high: float, alike: float = 0.0):
    for _ in range(tiles):
        shift = rng.normal(0, alike)
        yield np.clip(rng.uniform(low, high, rng.poisson(4) + 1) + shift, 0.05, 1)


def alarms(runs: int, low: float, high: float, **options: float) -> float:
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(runs):
        monitor = DriftMonitor(REFERENCE, DriftSettings(alpha=0.05))
        for confidences in run_of_tiles(rng, 200, low, high, **options):
            monitor.add_tile(confidences)
        found += monitor.status().drifted
    return found / runs


@pytest.mark.parametrize("alike", [0.0, 0.15])
def test_false_alarms_stay_below_alpha(alike):
    # Looked at after each of 200 tiles; predictions of one tile are alike in the second case.
    assert alarms(100, 0.05, 0.98, alike=alike) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 100)


def test_a_fall_of_confidence_is_found():
    assert alarms(50, 0.05, 0.65) >= 0.95


def test_a_change_of_spread_alone_is_found():
    assert alarms(50, 0.4, 0.63) >= 0.95


def test_status_in_words():
    monitor = DriftMonitor(REFERENCE)
    assert monitor.status().rank_shift is None
    for confidences in run_of_tiles(np.random.default_rng(0), 300, 0.05, 0.4):
        monitor.add_tile(confidences)
    monitor.add_tile(np.zeros(0))
    status = monitor.status()
    assert status.tiles == 300
    assert "lower" in status.sentence()
    assert "calibrate again" in status.sentence()


def test_tied_scores_do_not_break_the_ranks():
    pairs = draw_session(1).select(np.arange(60))
    tied = type(pairs)(np.full(60, 0.5), pairs.iou, pairs.tile)
    reference = reference_of(tied)
    assert reference.rank_mean == pytest.approx(0.5)
    monitor = DriftMonitor(reference)
    for _ in range(100):
        monitor.add_tile(np.full(3, 0.5))
    assert not monitor.status().drifted


def test_one_tile_is_no_reference():
    assert reference_of(draw_session(1).select(np.array([0]))) is None
