"""The choice among models: what is within the spread of a measurement decides nothing."""

from __future__ import annotations

from typing import Any

import pytest

from edgekit.bench.advice import advise
from edgekit.bench.latency.spread import spread_share
from edgekit.bench.latency.trolley import TrolleySettings, trolley_speed

REAL_TIME_MS = 1e3 / trolley_speed(1.0, 512, TrolleySettings()).real_time_factor
"""Milliseconds a tile that just keep up with the planned speed."""


def model(name: str, ms: float, *, f1: float | None = None, drift: float = 0.0) -> dict[str, Any]:
    """A report's entry whose samples lie 1 % around `ms`, the second half slower by `drift`."""
    samples = [ms * (0.99 + 0.02 * (n % 2)) * (1 + drift * (n >= 50)) for n in range(100)]
    speed = trolley_speed(1e3 / ms, 512, TrolleySettings())
    latency = {
        "tile_ms_median": ms, "samples_ms": samples, "tiles_per_call": 1,
        "trolley": {"highest_speed_m_s": speed.highest_speed_m_s, "real_time_factor": speed.real_time_factor,
                    "settings": {"speed_m_s": 0.25}},
    }  # fmt: skip
    counts = {"found": 14, "labels": 15, "false_alarms": 1, "threshold": 0.6}
    accuracy = {"figures": {"mask_f1": {"value": f1}}, "counts": counts, "mask": True}
    return {"name": name, "latency": latency, "accuracy": None if f1 is None else accuracy}


def test_models_that_nothing_tells_apart_are_said_to_be_alike() -> None:
    advice = advise([model("other", 20.1, f1=0.96), model("one", 20.0, f1=0.96)])
    assert "no difference shown to one" in advice.reasons[0]
    assert "either will do" in advice.reasons[0]
    assert not any("faster" in reason for reason in advice.reasons)


def test_a_difference_beyond_the_spread_decides() -> None:
    advice = advise([model("slower", 24.0, f1=0.97), model("faster", 20.0, f1=0.96)])
    assert advice.model == "faster"
    assert any("faster: 20.0 against 24.0 ms a tile" in reason for reason in advice.reasons)
    assert not any("no difference shown" in reason for reason in advice.reasons)


def test_without_labels_latency_alone_is_judged_in_the_same_way() -> None:
    assert "no difference shown to b" in advise([model("a", 20.0), model("b", 20.1)]).reasons[0]
    assert advise([model("a", 20.0), model("b", 24.0)]).reasons[0].startswith("it is the fastest")


@pytest.mark.parametrize(
    ("share", "drift", "chosen", "word"),
    [(1.04, 0.15, "accurate", "cannot be told"), (1.04, 0.0, "quick", "accurate is too slow"),
     (0.9, 0.0, "accurate", "it keeps up"), (0.97, 0.15, "accurate", "cannot be told")],
)  # fmt: skip
def test_what_keeps_up_is_judged_with_the_spread_of_the_latency(share, drift, chosen, word) -> None:
    accurate = model("accurate", share * REAL_TIME_MS, f1=0.96, drift=drift)
    advice = advise([accurate, model("quick", 0.96 * REAL_TIME_MS, f1=0.5)] if share > 1 else [accurate])
    assert advice.model == chosen
    (told,) = [reason for reason in advice.reasons if word in reason]
    assert "planned 0.25 m/s (the default of --speed)" in told


def test_a_planned_speed_that_was_given_is_not_called_the_default() -> None:
    given = model("a", 20.0, f1=0.9)
    given["latency"]["trolley"]["settings"]["speed_m_s"] = 0.4
    assert "planned 0.40 m/s (--speed)" in advise([given]).reasons[1]


def test_a_spread_is_that_of_the_quartiles_or_of_the_drift() -> None:
    assert spread_share([10.0, 10.0, 10.0]) == 0.0
    assert spread_share([9.0, 11.0] * 50) == pytest.approx(0.1)
    assert spread_share([10.0] * 50 + [12.0] * 50) == pytest.approx(2 / 11)
