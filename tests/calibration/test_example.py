"""The example session that comes along: real pictures, real predictions, labels drawn by hand."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from edgekit.calibration import fit_threshold, load_profile
from edgekit.calibration.build_profile import digest_of
from edgekit.calibration.inputs import InputRequest, load_inputs
from edgekit.calibration.session import corrected_labels, read_session
from edgekit.labels import read_labels, write_cvat, write_labelme

EXAMPLE = Path(__file__).resolve().parents[2] / "calibration" / "example"


@pytest.fixture(scope="module")
def profile():
    return load_profile("example-pepper", EXAMPLE)


def test_the_example_gives_the_profile_beside_it(profile):
    session = read_session(EXAMPLE)
    assert corrected_labels(session) == EXAMPLE / "coco" / "labels.json"
    inputs = load_inputs(InputRequest(EXAMPLE))
    assert inputs.skipped == ()
    assert digest_of(inputs.pairs) == profile.labels.digest
    fit = fit_threshold(inputs.pairs, profile.iou_target)
    assert fit.threshold == pytest.approx(profile.threshold, rel=1e-12)
    assert fit.uncertainty.acted == pytest.approx(profile.uncertainty.interval, rel=1e-6)
    assert (fit.n, fit.units) == (profile.relation.n, profile.relation.units)
    assert session.model_id == profile.model_id


@pytest.mark.parametrize("form", ["labelme", "cvat"])
def test_a_round_trip_through_a_tool_gives_the_same_fit(profile, form, tmp_path):
    labels = read_labels(EXAMPLE / "coco" / "labels.json")
    if form == "labelme":
        shutil.copytree(EXAMPLE / "images", tmp_path / "images")
        write_labelme(labels, tmp_path / form, images=tmp_path / "images", tolerance_px=0)
    else:
        write_cvat(labels, tmp_path / "cvat.xml", tolerance_px=0)
    inputs = load_inputs(InputRequest(EXAMPLE, labels=tmp_path / (form if form == "labelme" else "cvat.xml")))
    fit = fit_threshold(inputs.pairs, profile.iou_target)
    assert fit.threshold == pytest.approx(profile.threshold, rel=1e-9)
    assert fit.uncertainty.acted == pytest.approx(profile.uncertainty.interval, rel=1e-6)
