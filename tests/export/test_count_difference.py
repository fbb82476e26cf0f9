"""A difference of counts is refused where chance does not explain it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekit.export.count_difference import count_difference


def test_four_of_59_fruit_on_32_tiles_are_chance_and_a_loss_on_every_tile_is_not():
    before = [2] * 27 + [1] * 5
    by_chance = [n + (index < 4) for index, n in enumerate(before)]
    found = count_difference(before, by_chance)
    assert (found.reference, found.candidate) == (59, 63)
    assert found.share == pytest.approx(4 / 59)
    assert found.fault(0.05, 0.5) is None
    told = count_difference([10] * 32, [9] * 32).fault(0.05, 0.5)
    assert told == "count at 0.5: 288 for 320, -10.0 %, limit 5 %"


def test_the_same_share_is_refused_once_there_are_enough_tiles():
    before, after = [2] * 27 + [1] * 5, [3] * 4 + [2] * 23 + [1] * 5
    assert count_difference(before, after).fault(0.05, 0.5) is None
    told = count_difference(before * 30, after * 30).fault(0.05, 0.5)
    assert told is not None
    assert "1890 for 1770, +6.8 % (95 % interval +- " in told


def test_a_limit_of_none_allows_none_and_a_tile_alone_has_no_interval():
    assert count_difference([5, 5, 5], [5, 6, 5]).fault(0.0, 0.5).endswith(", limit 0 %")
    assert count_difference([5, 5, 5], [5, 5, 5]).fault(0.0, 0.5) is None
    assert count_difference([10], [9]).fault(0.05, 0.5) is not None
    assert count_difference([0, 0, 0], [1, 0, 2]).line(0.5) == "count at 0.5: 3 for 0"
    assert count_difference([], []).fault(0.0, 0.5) is None


@given(st.integers(0, 2**32 - 1))
def test_the_interval_is_that_of_resampled_tiles(seed):
    """Against the spread of the share over resamples of the tiles, drawn anew: within a quarter."""
    rng = np.random.default_rng(seed)
    before = rng.integers(1, 6, 90)
    after = np.maximum(before + rng.choice([-1, 0, 0, 0, 1], 90), 0)
    picks = rng.integers(0, 90, (2000, 90))
    shares = (after[picks].sum(1) - before[picks].sum(1)) / before[picks].sum(1)
    assert count_difference(before, after).margin_share == pytest.approx(1.96 * shares.std(), rel=0.25)
