"""Profiles as files, and which of them holds."""

from __future__ import annotations

import dataclasses
import re
from datetime import date

import pytest
from calibration_data import draw_session, make_profile
from hypothesis import given
from hypothesis import strategies as st

from edgekit.calibration import Profile, ProfileBand, load_profile, pick_profile, write_profile
from edgekit.calibration.profile_file import ProfileDamagedError, format_profile, parse_profile
from edgekit.errors import ProfileError, SettingsError

PROFILE = make_profile(draw_session(11))
MODEL = PROFILE.model_id
DAY = date(2026, 5, 1)


def test_a_profile_comes_back_as_it_was():
    banded = dataclasses.replace(
        PROFILE, bands=(ProfileBand(0, 0.5, 0.3, 0.02, 40), ProfileBand(0.5, 1, 0.5, 0.03, 50))
    )
    for profile in (PROFILE, banded, dataclasses.replace(PROFILE, confidences=None, notes='by "hand"\nÄpfel')):
        assert parse_profile(format_profile(profile), "x") == profile


def test_a_file_cut_at_any_byte_is_never_half_read():
    data = format_profile(PROFILE)
    for length in range(len(data)):
        with pytest.raises(ProfileDamagedError):
            parse_profile(data[:length], "cut.toml")


@given(st.data())
def test_a_file_with_a_hole_of_zeros_is_refused(data):
    whole = format_profile(PROFILE)
    start = data.draw(st.integers(0, len(whole) - 1))
    length = data.draw(st.integers(1, len(whole) - start))
    with pytest.raises(ProfileError):
        parse_profile(whole[:start] + bytes(length) + whole[start + length :], "hole.toml")


def test_an_editor_may_add_a_last_newline():
    assert parse_profile(format_profile(PROFILE) + b"\n", "x") == PROFILE
    assert parse_profile(format_profile(PROFILE).replace(b"\n", b"\r\n") + b"\r\n", "x") == PROFILE


def test_a_cut_profile_is_set_aside_and_the_others_serve(tmp_path):
    write_profile(PROFILE, tmp_path)
    (tmp_path / "cut.toml").write_bytes(format_profile(dataclasses.replace(PROFILE, season="cut"))[:300])
    choice = pick_profile(tmp_path, DAY, MODEL)
    assert choice.profile == PROFILE
    assert any("set aside" in warning for warning in choice.warnings)
    assert (tmp_path / "cut.toml.damaged").exists()
    assert not (tmp_path / "cut.toml").exists()
    assert pick_profile(tmp_path, DAY, MODEL).warnings == ()


def test_a_cut_profile_is_set_aside_by_its_name_and_left_where_it_is_by_its_path(tmp_path):
    cut = tmp_path / "cut.toml"
    cut.write_bytes(format_profile(PROFILE)[:300])
    with pytest.raises(ProfileDamagedError, match="its last lines are missing - "):
        load_profile(cut)
    assert cut.exists()
    with pytest.raises(ProfileDamagedError, match=r"set aside as cut\.toml\.damaged"):
        load_profile("cut", tmp_path)
    assert not cut.exists()


@pytest.mark.parametrize(
    ("data", "told", "aside"),
    [
        (b"", "is empty", True),
        (b"\n  \n", "is empty", True),
        (bytes(900), "holds only zeros", True),
        (b"[project]\nname = 'other'\n", "is no season profile", False),
        (bytes(range(256)), "is no season profile", False),
    ],
)
def test_what_is_no_profile_is_called_what_it_is(data, told, aside, tmp_path):
    (tmp_path / "odd.toml").write_bytes(data)
    with pytest.raises(ProfileError, match=told):
        load_profile("odd", tmp_path)
    assert (tmp_path / "odd.toml.damaged").exists() is aside


def test_a_damaged_profile_that_is_replaced_does_not_cost_the_last_good_one(tmp_path):
    path = write_profile(PROFILE, tmp_path)
    write_profile(PROFILE, tmp_path)
    path.write_bytes(format_profile(PROFILE)[:300])
    write_profile(PROFILE, tmp_path)
    assert parse_profile(path.with_name(path.name + ".old").read_bytes(), "old") == PROFILE
    assert path.with_name(path.name + ".damaged").exists()


def test_figures_that_were_changed_by_hand_are_doubted():
    assert PROFILE.doubts() == ()
    rounded = dataclasses.replace(PROFILE, threshold=round(PROFILE.threshold, 3))
    assert "changed by hand" in rounded.doubts()[0]
    wide = dataclasses.replace(PROFILE.uncertainty, interval=(0.1, 0.9))
    assert "the interval 0.1 to 0.9" in dataclasses.replace(PROFILE, uncertainty=wide).doubts()[0]


def test_a_run_is_told_of_a_changed_threshold(tmp_path):
    write_profile(dataclasses.replace(PROFILE, threshold=0.9), tmp_path)
    for name in (None, PROFILE.season):
        assert any("changed by hand" in text for text in pick_profile(tmp_path, DAY, MODEL, season=name).warnings)


@pytest.mark.parametrize(
    ("key", "value"),
    [("interval", "[]"), ("fieller", "[ 0.9, 0.1 ]"), ("units", "1"), ("b1", "-0.5"), ("edges", "[]")],
)
def test_tables_that_cannot_be(key, value):
    text = format_profile(PROFILE).decode()
    broken = re.sub(rf"^{key} = (\[[^\]]*\]|\S+)$", f"{key} = {value}", text, count=1, flags=re.MULTILINE)
    assert broken != text
    with pytest.raises(ProfileError, match=key):
        parse_profile(broken.encode(), "x")


def test_a_persons_typing_error_stays_where_it_is(tmp_path):
    path = write_profile(PROFILE, tmp_path)
    path.write_text(path.read_text().replace("place =", "plaice ="))
    choice = pick_profile(tmp_path, DAY, MODEL)
    assert choice.profile is None
    assert any("nearest known key is 'place'" in warning for warning in choice.warnings)
    assert path.exists()


def test_replacing_a_profile_keeps_the_old_one(tmp_path):
    write_profile(PROFILE, tmp_path)
    write_profile(dataclasses.replace(PROFILE, notes="second"), tmp_path)
    assert load_profile(PROFILE.season, tmp_path).notes == "second"
    assert parse_profile((tmp_path / f"{PROFILE.season}.toml.old").read_bytes(), "old") == PROFILE


def test_a_wrong_name_gives_the_nearest(tmp_path):
    write_profile(PROFILE, tmp_path)
    with pytest.raises(ProfileError, match="pepper-2026-spring"):
        load_profile("peper-2026", tmp_path)
    with pytest.raises(ProfileError, match="did you mean pepper-2026-spring"):
        load_profile("pepper-2026-sprng", tmp_path)
    with pytest.raises(ProfileError, match="it holds pepper-2026-spring"):
        load_profile("nope", tmp_path)
    with pytest.raises(ProfileError, match=r"no folder .*none.* - name the folder"):
        load_profile("nope", tmp_path / "none")


def season(name: str, first: date, last: date, model_id: str = MODEL) -> Profile:
    return dataclasses.replace(PROFILE, season=name, from_date=first, to_date=last, model_id=model_id)


def test_the_day_decides_and_the_later_season_wins(tmp_path):
    write_profile(season("winter", date(2025, 11, 1), date(2026, 2, 28)), tmp_path)
    write_profile(season("spring", date(2026, 3, 1), date(2026, 6, 30)), tmp_path)
    write_profile(season("may", date(2026, 5, 1), date(2026, 5, 31)), tmp_path)
    assert pick_profile(tmp_path, date(2026, 2, 28), MODEL).profile.season == "winter"
    assert pick_profile(tmp_path, date(2026, 3, 1), MODEL).profile.season == "spring"
    choice = pick_profile(tmp_path, date(2026, 5, 31), MODEL)
    assert choice.profile.season == "may"
    assert choice.warnings == ("season spring holds on 2026-05-31 too",)
    none = pick_profile(tmp_path, date(2030, 1, 1), MODEL)
    assert none.profile is None
    assert pick_profile(tmp_path, date(2030, 1, 1), MODEL, season="winter").profile.season == "winter"


def test_another_model_is_refused_unless_allowed(tmp_path):
    write_profile(season("spring", date(2026, 3, 1), date(2026, 6, 30), model_id="b" * 64), tmp_path)
    choice = pick_profile(tmp_path, DAY, MODEL)
    assert choice.profile is None
    assert "another model" in choice.warnings[0]
    with pytest.raises(ProfileError, match="calibrated with model bbbb"):
        pick_profile(tmp_path, DAY, MODEL, season="spring")
    for name in (None, "spring"):
        allowed = pick_profile(tmp_path, DAY, MODEL, season=name, allow_model_mismatch=True)
        assert allowed.profile.season == "spring"
        assert "allowed by the option" in allowed.warnings[0]


def test_an_absent_folder_is_no_fault(tmp_path):
    assert pick_profile(tmp_path / "none", DAY, MODEL).profile is None


@pytest.mark.parametrize(
    "changes",
    [
        {"threshold": 1.5},
        {"from_date": date(2027, 1, 1)},
        {"season": "../up"},
        {"format": 2},
    ],
)
def test_values_that_cannot_be(changes):
    with pytest.raises(SettingsError):
        dataclasses.replace(PROFILE, **changes)
    text = format_profile(PROFILE).decode()
    for key, value in changes.items():
        old = getattr(PROFILE, key)
        written = f'"{value}"' if isinstance(value, str) else str(value)
        quoted = f'"{old}"' if isinstance(old, str) else str(old)
        broken = text.replace(f"{key} = {quoted}", f"{key} = {written}", 1)
        assert broken != text
        with pytest.raises(ProfileError):
            parse_profile(broken.encode(), "x")
