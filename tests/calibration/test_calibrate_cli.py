"""The commands, as a person types them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from calibration_data import draw_session, make_profile, write_pairs
from calibration_run import MODEL_ID, Field, label_marks, make_run
from typer.testing import CliRunner

from edgekit.calibration import Pairs, load_profile, write_profile
from edgekit.calibration.session import read_session
from edgekit.cli.calibrate import app
from edgekit.errors import CalibrationError, EdgekitError, LabelsError, ProfileError, SettingsError, StorageError
from edgekit.labels import write_labelme
from tests.segment.graphs import INFO, echo_graph


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
    assert "width=device-width" in page
    assert "the count hardly depends on the threshold" in page  # the fourth panel is that of the run
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
    echo_graph(tmp_path / "echo.onnx", INFO)
    message = call(
        "fit", "--pairs", tmp_path / "pairs.csv", "--season", "may", "--profiles", tmp_path / "calibration",
        "--model", tmp_path / "echo.onnx", "--json", tmp_path / "fit.json", fails=CalibrationError,
    )  # fmt: skip
    assert "season may is left as it is" in message
    assert path.read_bytes() == before
    assert json.loads((tmp_path / "fit.json").read_text())["fits"][0]["refused"]


def test_a_refusal_is_told_once(tmp_path):
    x = np.linspace(0.1, 0.9, 20)
    write_pairs(Pairs(x, 1 - 0.5 * x, np.array([f"t{i // 2}" for i in range(20)])), tmp_path / "pairs.csv")
    result = CliRunner().invoke(app, ["fit", "--pairs", str(tmp_path / "pairs.csv"), "--iou", "0.5", "--iou", "0.6"])
    assert "IoU falls as confidence rises" in str(result.exception)
    assert "no threshold for IoU 0.5" in str(result.exception)
    assert "no threshold for IoU 0.5" not in result.output
    assert "no threshold for IoU 0.6" in result.output


def test_what_a_profile_lacks_is_told_before_the_fit(tmp_path):
    """The pairs would be refused as well: the missing model comes first."""
    x = np.linspace(0.1, 0.9, 20)
    write_pairs(Pairs(x, 1 - 0.5 * x, np.array([f"t{i // 2}" for i in range(20)])), tmp_path / "pairs.csv")
    command = ("fit", "--pairs", tmp_path / "pairs.csv", "--season", "may", "--profiles", tmp_path)
    assert "--model" in call(*command, fails=SettingsError)
    for option, value in (("--iou", 50), ("--bands", "1,0"), ("--sigma", "nan"), ("--good-share", 80)):
        call("fit", "--pairs", tmp_path / "none.csv", option, value, fails=SettingsError)


def test_options_without_effect_are_refused(calibrated, field, tmp_path):
    write_pairs(draw_session(11), tmp_path / "pairs.csv")
    table = ("fit", "--pairs", tmp_path / "pairs.csv")
    assert "--class-map" in call(*table, "--class-map", "a=b", fails=LabelsError)
    assert "--unit-pattern" in call("fit", calibrated / "s", "--unit-pattern", "(.*)", fails=LabelsError)
    assert "--model" in call("fit", calibrated / "s", "--season", "x", "--model", "m.onnx", fails=SettingsError)


def test_a_class_map_names_classes_that_are_there(calibrated, field):
    for entry, told in (("grene=pepper", "'grene'"), ("fruit=peper", "'peper'")):
        message = call("fit", calibrated / "s", "--class-map", entry, fails=LabelsError)
        assert f"--class-map names {told}" in message


@pytest.mark.parametrize("option", ["--json", "--report"])
def test_folders_of_outputs_are_made_and_what_cannot_be_written_is_told_first(option, tmp_path):
    write_pairs(draw_session(11), tmp_path / "pairs.csv")
    call("fit", "--pairs", tmp_path / "pairs.csv", option, tmp_path / "new" / "deep" / "fit.html")
    written = (tmp_path / "new" / "deep" / "fit.html").read_text()
    assert option == "--json" or "Confidences of the labelled tiles" in written  # no run, so no curve of its count
    assert "it is a folder" in call("fit", "--pairs", tmp_path / "none.csv", option, tmp_path, fails=StorageError)


def test_a_device_is_not_replaced_by_a_file(tmp_path):
    write_pairs(draw_session(11), tmp_path / "pairs.csv")
    os.mkfifo(tmp_path / "pipe.json")
    message = call("fit", "--pairs", tmp_path / "pairs.csv", "--json", tmp_path / "pipe.json", fails=StorageError)
    assert "a device or a pipe" in message
    assert (tmp_path / "pipe.json").is_fifo()


def test_a_threshold_changed_by_hand_is_told_wherever_it_is_shown(calibrated, field, tmp_path):
    text = (calibrated / "calibration" / "may.toml").read_text()
    before = load_profile("may", calibrated / "calibration").threshold
    (tmp_path / "may.toml").write_text(text.replace(f"threshold = {before}", "threshold = 0.9", 1))
    told = "the threshold 0.9 was changed by hand: its line gives"
    for words in (("show", "may"), ("compare", "may", "may"), ("apply", "may", "--run", field.run)):
        result = CliRunner().invoke(app, [str(word) for word in (*words, "--profiles", tmp_path)])
        assert told in result.stderr, words
    figures = json.loads(CliRunner().invoke(app, ["show", "may", "--profiles", str(tmp_path), "--json", "-"]).stdout)
    assert told in figures["doubts"][0]
    assert CliRunner().invoke(app, ["show", "may", "--profiles", str(calibrated / "calibration")]).stderr == ""


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
