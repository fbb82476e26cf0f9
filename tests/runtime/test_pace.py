"""The real rate of a camera, beside what was asked."""

from __future__ import annotations

import pytest

from edgekit.runtime.sources.pace import Asked, Pace


def told(pace: Pace, times_s: list[float]) -> list[str]:
    doubts = [pace.note(number, time_s) for number, time_s in enumerate(times_s)]
    return [doubt for doubt in doubts if doubt is not None]


def test_frames_that_waited_for_the_start_are_not_measured():
    pace = Pace(Asked(rate_hz=15.0))
    burst = [0.01 * number for number in range(8)]
    assert told(pace, burst + [0.1 + number / 15 for number in range(60)]) == []
    assert pace.rate_hz == pytest.approx(15.0)


def test_a_slow_camera_is_told_once():
    pace = Pace(Asked(rate_hz=15.0))
    (doubt,) = told(pace, [number / 10 for number in range(60)])
    assert doubt.startswith("the camera gives 10.0 frames/s, 15 were asked")
