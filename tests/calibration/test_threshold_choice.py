"""Which threshold a run gets: the option, the named season, the season of the day, or the model's default."""

from __future__ import annotations

import dataclasses
from datetime import date, timedelta

import pytest
from calibration_data import draw_session, make_profile

from edgekit.calibration import write_profile
from edgekit.cli.threshold import ThresholdRequest, resolve_threshold
from edgekit.contracts import ModelInfo
from edgekit.errors import ProfileError

INFO = ModelInfo(
    1, "yolo11", ("fruit",), 512, 512, 1, 100, None, "tile", 128, 0.05, 0.7, "fp32", "d" * 64, "AGPL-3.0", {},
    default_threshold=0.42,
)  # fmt: skip
PROFILE = make_profile(
    draw_session(11), season="now", model_id=INFO.model_id,
    from_date=date.today() - timedelta(days=1), to_date=date.today() + timedelta(days=1),
)  # fmt: skip


def test_the_season_of_the_day_holds(tmp_path):
    write_profile(PROFILE, tmp_path)
    chosen = resolve_threshold(ThresholdRequest(None, None, profiles=tmp_path), INFO)
    assert chosen.value == PROFILE.threshold
    assert "season now" in chosen.origin
    assert chosen.warning is None
    assert resolve_threshold(ThresholdRequest(0.7, None, profiles=tmp_path), INFO).value == 0.7


def test_without_a_season_the_default_holds_with_a_warning(tmp_path):
    assert resolve_threshold(ThresholdRequest(None, None, profiles=tmp_path), INFO).warning is None
    write_profile(dataclasses.replace(PROFILE, from_date=date(2020, 1, 1), to_date=date(2020, 2, 1)), tmp_path)
    chosen = resolve_threshold(ThresholdRequest(None, None, profiles=tmp_path), INFO)
    assert chosen.value == 0.42
    assert "no profile of this model" in chosen.warning
    named = resolve_threshold(ThresholdRequest(None, "now", profiles=tmp_path), INFO)
    assert named.value == PROFILE.threshold


def test_another_models_season_is_not_taken_silently(tmp_path):
    write_profile(dataclasses.replace(PROFILE, model_id="b" * 64), tmp_path)
    chosen = resolve_threshold(ThresholdRequest(None, None, profiles=tmp_path), INFO)
    assert chosen.value == 0.42
    assert "another model" in chosen.warning
    allowed = resolve_threshold(ThresholdRequest(None, None, True, tmp_path), INFO)
    assert allowed.value == PROFILE.threshold
    assert "another model" in allowed.origin
    with pytest.raises(ProfileError):
        resolve_threshold(ThresholdRequest(None, "now", profiles=tmp_path), INFO)
