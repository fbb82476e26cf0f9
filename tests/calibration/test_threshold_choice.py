"""Which threshold a run gets: the option, the named season, the season of the day, or the model's default."""

from __future__ import annotations

import dataclasses
from datetime import date, timedelta

import pytest
from calibration_data import draw_session, make_profile

from edgekit.calibration import ProfileBand, write_profile
from edgekit.cli.threshold import ThresholdRequest, begun_plan, profile_folder, resolve_threshold
from edgekit.contracts import Instances, ModelInfo, TileResult, TileSpec
from edgekit.errors import ProfileError, SettingsError
from edgekit.store import HeightBand, RunFolder, RunPlan, RunRecorder, Season, SourcePlan

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
    assert chosen.warnings == ()
    assert chosen.season.name == "now"
    assert resolve_threshold(ThresholdRequest(0.7, None, profiles=tmp_path), INFO).value == 0.7


def test_without_a_season_the_default_holds_with_a_warning(tmp_path):
    assert resolve_threshold(ThresholdRequest(None, None, profiles=tmp_path), INFO).warnings == ()
    write_profile(dataclasses.replace(PROFILE, from_date=date(2020, 1, 1), to_date=date(2020, 2, 1)), tmp_path)
    chosen = resolve_threshold(ThresholdRequest(None, None, profiles=tmp_path), INFO)
    assert chosen.value == 0.42
    assert "no profile of this model" in chosen.warnings[0]
    named = resolve_threshold(ThresholdRequest(None, "now", profiles=tmp_path), INFO)
    assert named.value == PROFILE.threshold


def test_an_untrained_model_is_told_of_whatever_sets_the_threshold():
    for value in (None, 0.7):
        chosen = resolve_threshold(ThresholdRequest(value, None), dataclasses.replace(INFO, untrained=True))
        assert "untrained" in chosen.warnings[0]


def test_another_models_season_is_not_taken_silently(tmp_path):
    write_profile(dataclasses.replace(PROFILE, model_id="b" * 64), tmp_path)
    chosen = resolve_threshold(ThresholdRequest(None, None, profiles=tmp_path), INFO)
    assert chosen.value == 0.42
    assert "another model" in chosen.warnings[0]
    allowed = resolve_threshold(ThresholdRequest(None, None, True, tmp_path), INFO)
    assert allowed.value == PROFILE.threshold
    assert "another model" in allowed.origin
    with pytest.raises(ProfileError):
        resolve_threshold(ThresholdRequest(None, "now", profiles=tmp_path), INFO)


def begun(tmp_path, plan):
    """A run that was cut after its first tile."""
    recorder = RunRecorder(RunFolder(tmp_path).database)
    recorder.begin(plan)
    spec = TileSpec(0, 0, 0, 512)
    recorder.add_tiles(1, [(spec, TileResult(Instances.empty(), 0))])
    recorder.close()
    return begun_plan(tmp_path)


def test_a_run_that_was_cut_goes_on_with_the_threshold_that_it_began_with(tmp_path):
    season = Season("spring", (HeightBand(0, 0.5, 0.4), HeightBand(0.5, 1, 0.6)))
    plan = RunPlan({}, INFO.model_id, {}, 0.55, "season spring holds on 2026-04-30", (SourcePlan("a", "frames", "x"),),
                   season)  # fmt: skip
    (tmp_path / "run").mkdir()
    stored = begun(tmp_path / "run", plan)
    write_profile(PROFILE, tmp_path)
    chosen = resolve_threshold(ThresholdRequest(None, None, profiles=tmp_path, begun=stored), INFO)
    assert (chosen.value, chosen.origin, chosen.season) == (0.55, plan.threshold_from, season)
    assert "goes on with 0.55 (season spring" in chosen.warnings[0]
    assert f"today it would be {PROFILE.threshold:g}" in chosen.warnings[0]
    assert resolve_threshold(ThresholdRequest(0.7, None, begun=stored), INFO).value == 0.7  # and is then refused
    same = resolve_threshold(ThresholdRequest(None, None, begun=dataclasses.replace(stored, threshold=0.42)), INFO)
    assert same.warnings == ()
    assert begun_plan(tmp_path / "nothing") is None


def test_profiles_are_found_beside_the_work_then_on_the_device(tmp_path):
    beside, installed = tmp_path / "calibration", tmp_path / "etc"
    assert profile_folder(None, (beside, installed)) == beside
    write_profile(PROFILE, installed)
    assert profile_folder(None, (beside, installed)) == installed
    write_profile(PROFILE, beside)
    assert profile_folder(None, (beside, installed)) == beside
    assert profile_folder(installed) == installed
    with pytest.raises(SettingsError, match="no folder"):
        profile_folder(tmp_path / "none")


def test_thresholds_by_height_come_along_and_are_checked(tmp_path):
    bands = (ProfileBand(0, 0.5, 0.4, 0.02, 30), ProfileBand(0.5, 1, 0.6, 0.02, 30))
    write_profile(dataclasses.replace(PROFILE, bands=bands), tmp_path)
    chosen = resolve_threshold(ThresholdRequest(None, None, profiles=tmp_path), INFO)
    assert [band.threshold for band in chosen.season.bands] == [0.4, 0.6]
    low = (ProfileBand(0, 0.5, 0.01, 0.02, 30), ProfileBand(0.5, 1, 0.6, 0.02, 30))
    write_profile(dataclasses.replace(PROFILE, bands=low), tmp_path)
    with pytest.raises(SettingsError, match="score floor"):
        resolve_threshold(ThresholdRequest(None, None, profiles=tmp_path), INFO)
