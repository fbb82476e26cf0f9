"""The command `edgekit export`: what it refuses, what it says, and what a kill leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from edgekit.errors import CheckpointError, ExportError, LabelsError, ModelError, SettingsError, SourceError

app = pytest.importorskip("edgekit.cli.export").app

RECIPE = """
model = "yolo11"
classes = ["fruit"]
tile_size_px = 64
inner_size_px = 64
max_detections = 5
nms_candidates = 20
"""


@pytest.fixture
def recipe(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(RECIPE)
    return path


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize("arguments", [(), ("yolo11",), ("yolo11", "--untrained", "1", "--format", "tflite")])
def test_a_wrong_command_line_is_told_as_one(arguments):
    assert run(*arguments).exit_code == 2


@pytest.mark.parametrize("threshold", [-0.1, 1.5])
def test_a_threshold_that_is_no_confidence_is_refused(recipe, threshold):
    assert run(recipe, "--untrained", 1, "--threshold", threshold, "--print-config").exit_code == 2


def test_weights_and_a_seed_exclude_each_other(recipe, tmp_path):
    assert run(recipe, "--untrained", 1, "--weights", tmp_path / "w.pt").exit_code == 2


def test_the_effective_recipe_is_shown(recipe):
    shown = run(recipe, "--batch", 4, "--precision", "int8", "--target", "tensorrt", "--print-config")
    assert shown.exit_code == 0
    for line in ("tile_size_px = 64", "batch = 4", 'precision = "int8"', 'targets = ["tensorrt"]'):
        assert line in shown.output


@pytest.mark.torch
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("nothing-of-that-name", "--untrained", 1), SettingsError),
        (("mask_rcnn", "--untrained", 1, "--batch", 0), SettingsError),
        (("yolo11", "--weights", "/nowhere/w.pt"), CheckpointError),
        (("yolo11", "--weights", "/nowhere/w.pt", "--format", "engine"), CheckpointError),
        (("/nowhere/m.onnx", "--format", "engine"), ModelError),
        (("yolo11", "--untrained", 1, "--precision", "int8"), SettingsError),
        (("yolo11", "--untrained", 1, "--precision", "int8", "--images", "/nowhere"), SourceError),
        (("yolo11", "--untrained", 1, "--precision", "int8", "--labels", "/nowhere.json"), LabelsError),
        (("yolo11", "--untrained", 1, "--labels", "/nowhere.json"), SettingsError),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(tmp_path, arguments, error):
    pytest.importorskip("torch")
    outcome = run(*arguments, "--out", tmp_path / "out")
    assert isinstance(outcome.exception, error), outcome.output
    assert not list((tmp_path / "out").glob("*.onnx"))


@pytest.mark.torch
def test_an_untrained_graph_says_so_and_can_be_looked_into(recipe, tmp_path):
    pytest.importorskip("ultralytics")
    made = run(recipe, "--untrained", 1, "--out", tmp_path / "out", "--json")
    assert made.exit_code == 0, made.output
    (artifact,) = json.loads(made.stdout)
    assert artifact["info"]["untrained"]
    report = run("--inspect", artifact["path"], "--json")
    assert json.loads(report.stdout)["inputs"] == {"tiles": "uint8[1, 64, 64, 3]"}


@pytest.mark.torch
def test_a_graph_that_the_checker_refuses_gets_no_name(tmp_path):
    onnx = pytest.importorskip("onnx")
    writer = pytest.importorskip("edgekit.export.onnx_writer")
    broken = onnx.helper.make_model(
        onnx.helper.make_graph([onnx.helper.make_node("Relu", ["missing"], ["y"])], "g", [], []), ir_version=9
    )
    with pytest.raises(ExportError, match="not valid"):
        writer.write(broken, tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.torch
def test_an_exporter_that_fails_leaves_no_file_and_is_named(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    writer = pytest.importorskip("edgekit.export.onnx_writer")
    from edgekit.export.builder import Weights
    from edgekit.export.recipe import Recipe
    from edgekit.export.yolo import build

    monkeypatch.chdir(tmp_path)
    small = Recipe(
        model="yolo11", classes=("fruit",), tile_size_px=64, inner_size_px=64, max_detections=5, nms_candidates=20
    )
    built = build(small, Weights(untrained_seed=1), target="cpu")
    monkeypatch.setattr(built.module, "masks", lambda *rows: torch.linalg.svd(rows[0])[0])
    with pytest.raises(ExportError, match="TorchScript exporter failed"):
        writer.trace(built)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.9, 0.95, 0.99])
def test_a_killed_export_leaves_nothing_under_a_final_name(recipe, tmp_path, share):
    """Killed at a share of the time that an export takes: what lies there afterwards is whole, or is not there."""
    from edgekit.segment import open_segmenter

    def start(out):
        command = [
            sys.executable,
            "-m",
            "edgekit",
            "export",
            str(recipe),
            "--untrained",
            "1",
            "--out",
            str(out),
            "--quiet",
        ]
        return subprocess.Popen(command, start_new_session=True)

    begin = time.monotonic()
    assert start(tmp_path / "whole").wait() == 0
    whole_s = time.monotonic() - begin
    process = start(tmp_path / "killed")
    time.sleep(whole_s * share)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for path in (tmp_path / "killed").glob("*.onnx") if (tmp_path / "killed").exists() else []:
        if not path.name.startswith("."):
            open_segmenter(path)


@pytest.mark.torch
def test_a_write_that_is_killed_at_any_byte_leaves_nothing_under_the_final_name(tmp_path, monkeypatch):
    """The dangerous moment, without waiting for it: the process dies while the file is being written."""
    onnx = pytest.importorskip("onnx")
    writer = pytest.importorskip("edgekit.export.onnx_writer")
    from segment.graphs import echo_graph

    model = onnx.load(echo_graph(tmp_path / "source.onnx"))
    data = model.SerializeToString()

    class Killed(BaseException):
        """Stands for SIGKILL: nothing catches it."""

    for share in (0.0, 0.3, 0.999):

        def die(path, content, share=share):
            with path.open("wb") as file:
                file.write(content[: int(len(data) * share)])
            raise Killed

        with monkeypatch.context() as patch:
            patch.setattr("pathlib.Path.write_bytes", die)
            with pytest.raises(Killed):
                writer.write(model, tmp_path / "m.onnx")
        assert not (tmp_path / "m.onnx").exists()
    writer.write(model, tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").exists()
