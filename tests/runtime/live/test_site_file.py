"""The site file: what a person writes is taken or refused in one line, never a crash."""

from __future__ import annotations

import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgekit.errors import EdgekitError, SettingsError
from edgekit.runtime.live.site import read_site, ready_cameras

GOOD = 'out = "runs"\n[[cameras]]\nname = "a"\n[cameras.camera]\nkind = "stream"\naddress = "x"\n'
KEYS = st.sampled_from(
    ["out", "cameras", "name", "file", "camera", "side", "rows", "opened_by", "stop_s", "space", "reserve_mb",
     "metrics", "host", "port", "token",
     "model", "threshold", "run_per", "kind", "address", "day_begins_h", "segments", "odd"]
)  # fmt: skip
VALUES = st.recursive(
    st.booleans() | st.integers(-(10**6), 10**6) | st.floats() | st.text(max_size=12)
    | st.sampled_from(["left", "stream", "0.0.0.0", "day", "movement"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


def site_of(tmp_path, text):
    path = tmp_path / "trolley.toml"
    path.write_text(text)
    return read_site(path)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=6))
def test_any_toml_is_a_site_or_refused_in_one_line(tmp_path, values):
    said = ""
    try:
        ready_cameras(site_of(tmp_path, tomli_w.dumps(values)))
    except EdgekitError as error:
        said = str(error)
    assert "\n" not in said


def test_the_template_is_a_site_and_its_paths_start_at_its_folder(repository):
    site = read_site(repository / "runtime/trolley.toml")
    assert site.out == repository / "runtime/runs"
    assert [(camera.name, camera.label) for camera in ready_cameras(site)] == [("left", "left"), ("right", "right")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("out = 'x'\ncameras = []", "no camera is named"),
        (GOOD + GOOD[13:], "two cameras have one name"),
        (GOOD.replace("[cameras.camera]", 'file = "b.toml"\n[cameras.camera]'), "either file or a table"),
        (GOOD + "[rows]\nopened_by = []", "opened_by is empty"),
        (GOOD + "[rows]\nopened_by = ['clock']", "opened_by"),
        (GOOD + "[rows]\nstop_s = 0.0", "stop_s is 0"),
        (GOOD + "[space]\nreserve_mb = -1.0", "reserve_mb is -1"),
        (GOOD + "[spaces]\n", "unknown key 'spaces'"),
        ("day_begins_h = 24\n" + GOOD, "day_begins_h is 24"),
        (GOOD + "[metrics]\nhost = '0.0.0.0'", "without a token"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path, text, told):
    with pytest.raises(SettingsError, match=told):
        site_of(tmp_path, text)


def test_several_cameras_of_one_side_are_told_apart(tmp_path):
    text = GOOD + GOOD[13:].replace('"a"', '"b"')
    assert [camera.label for camera in ready_cameras(site_of(tmp_path, text))] == ["left a", "left b"]
