"""The commands, as a person types them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from calibration_data import draw_session, make_profile
from calibration_run import MODEL_ID, Field, label_marks, make_run
from typer.testing import CliRunner

from edgekit.calibration import Pairs, load_profile, write_profile
from edgekit.calibration.session import read_session
from edgekit.calibration.table import write_pairs
from edgekit.cli.calibrate import app
from edgekit.errors import CalibrationError, EdgekitError, ProfileError, SettingsError
from edgekit.labels import write_labelme


@pytest.fixture(scope="module")
def field(tmp_path_factory) -> Field:
    return make_run(tmp_path_factory.mktemp("field") / "run")


def call(*words: object, fails: type[EdgekitError] | None = None, ends: int = 0) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    if fails is not None:
        assert isinstance(result.exception, fails), result.output
        return str(result.exception)
    assert result.exit_code == ends, (result.output, result.exception)
    return result.output


@pytest.fixture(scope="module")
def calibrated(field, tmp_path_factory) -> Path:
    """A season that was calibrated by a session, from the run to the profile."""
    home = tmp_path_factory.mktemp("season")
    call("sample", field.run, "--n", 70, "--out", home / "s")
    session = read_session(home / "s")
    labels = label_marks(field, {tile.name: tile.checked for tile in session.tiles})
    write_labelme(labels, home / "s" / "labelme", images=home / "s" / "images")
    output = call(
        "fit", home / "s", "--run", field.run, "--season", "may", "--crop", "pepper", "--place", "house 3",
        "--from", "2026-05-01", "--to", "2026-06-30", "--iou", 0.5, "--iou", 0.6, "--bands", "0,0.5,1",
        "--sigma", 0.01, "--good-share", 0.6, "--profiles", home / "calibration", "--json", home / "fit.json",
        "--report", home / "fit.html",
    )  # fmt: skip
    assert "threshold" in output
    assert "sigma 0.01 needs" in output
    return home


def test_a_session_ends_in_a_profile(calibrated):
    profile = load_profile("may", calibrated / "calibration")
    figures = json.loads((calibrated / "fit.json").read_text())
    main = figures["fits"][0]
    assert profile.threshold == main["threshold"]
    assert profile.model_id == MODEL_ID
    assert profile.relation.n == 70
    assert main["uncertainty"]["acted"] == list(profile.uncertainty.interval)
    assert main["r"] != main["r_squared"]
    assert figures["fits"][1]["threshold"] > main["threshold"]
    assert figures["counts"]["fruit_at_low"] >= figures["counts"]["fruit"] >= figures["counts"]["fruit_at_high"]
    assert [band["top"] for band in figures["bands"]["bands"]] == [0, 0.5]


def test_the_report_needs_nothing_else(calibrated):
    page = (calibrated / "fit.html").read_text()
    assert "data:image/png;base64," in page
    assert "http" not in page
    assert (calibrated / "fit.png").read_bytes().startswith(b"\x89PNG")


def test_show_apply_and_compare(calibrated, field):
    folder = calibrated / "calibration"
    shown = call("show", "may", "--profiles", folder)
    assert "season may: pepper, house 3, 2026-05-01 to 2026-06-30" in shown
    assert json.loads(call("show", "may", "--profiles", folder, "--json", "-"))["crop"] == "pepper"
    applied = call("apply", "may", "--run", field.run, "--profiles", folder)
    stored = json.loads((field.run / "calibrated.json").read_text())
    assert str(stored["fruit"]) in applied
    assert stored["season"] == "may"
    assert stored["fruit"] == sum(stored["rows"])
    assert stored["drift"]["drifted"] is False
    assert call("compare", "may", "may", "--profiles", folder).startswith("keep")
    write_profile(make_profile(draw_session(1), season="other"), folder)
    assert call("compare", "other", "may", "--profiles", folder, ends=1).startswith("recalibrate")


def test_another_models_profile_is_refused_and_the_exception_recorded(field, tmp_path):
    write_profile(make_profile(draw_session(1), season="other"), tmp_path)
    message = call("apply", "other", "--run", field.run, "--profiles", tmp_path, fails=ProfileError)
    assert "--allow-model-mismatch" in message
    call("apply", "other", "--run", field.run, "--profiles", tmp_path, "--allow-model-mismatch")
    assert "allowed by the option" in json.loads((field.run / "calibrated.json").read_text())["warning"]


BAD = {
    "few": (np.linspace(0.1, 0.9, 5), np.linspace(0.1, 0.9, 5)),
    "constant confidence": (np.full(20, 0.5), np.linspace(0.1, 0.9, 20)),
    "constant iou": (np.linspace(0.1, 0.9, 20), np.ones(20)),
    "falling": (np.linspace(0.1, 0.9, 20), np.linspace(0.9, 0.1, 20)),
    "outside": (np.linspace(0.06, 0.5, 20), np.linspace(0.1, 0.3, 20) + 0.001 * np.arange(20) % 3),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_refusal_leaves_the_old_profile_untouched(kind, tmp_path):
    path = write_profile(make_profile(draw_session(11), season="may"), tmp_path / "calibration")
    before = path.read_bytes()
    x, y = BAD[kind]
    write_pairs(Pairs(x, y, np.array([f"t{i // 2}" for i in range(len(x))])), tmp_path / "pairs.csv")
    message = call(
        "fit", "--pairs", tmp_path / "pairs.csv", "--season", "may", "--profiles", tmp_path / "calibration",
        "--json", tmp_path / "fit.json", fails=CalibrationError,
    )  # fmt: skip
    assert "season may is left as it is" in message
    assert path.read_bytes() == before
    assert json.loads((tmp_path / "fit.json").read_text())["fits"][0]["refused"]


def test_a_table_needs_to_say_whose_it_is(tmp_path):
    write_pairs(draw_session(11), tmp_path / "pairs.csv")
    assert "threshold" in call("fit", "--pairs", tmp_path / "pairs.csv")
    call("fit", "--pairs", tmp_path / "pairs.csv", "--season", "may", "--profiles", tmp_path, fails=SettingsError)
    assert list(tmp_path.glob("*.toml")) == []


def test_json_on_standard_output_is_json_alone(tmp_path):
    write_pairs(draw_session(11), tmp_path / "pairs.csv")
    figures = json.loads(call("fit", "--pairs", tmp_path / "pairs.csv", "--json", "-"))
    assert figures["pairs"] == len(draw_session(11))


def test_help_needs_neither_numpy_nor_matplotlib():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['numpy','scipy','cv2','matplotlib','onnxruntime']))\n"
        "from typer.testing import CliRunner; from edgekit.cli.calibrate import app\n"
        "for words in ([], ['fit'], ['sample'], ['show'], ['compare'], ['apply'], ['report']):\n"
        "    assert CliRunner().invoke(app, [*words, '--help']).exit_code == 0, words\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
