"""`edgekit bench` from end to end, on a graph of the contract that finds what the pictures tell it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from edgekit.cli.bench import app
from edgekit.contracts import MaskCrop
from edgekit.errors import LabelsError, ModelError, SettingsError
from edgekit.labels import LabelledInstance, LabelledPicture, LabelSet, write_coco
from tests.segment.graphs import INFO, echo_graph

pytest.importorskip("hotcoco")
pytest.importorskip("matplotlib")
SIDE = 128


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """A model that finds one square in each of 12 pictures; one picture has no label there, one has a second label."""
    echo_graph(tmp_path / "echo.onnx", replace(INFO, tile_size_px=SIDE))
    (tmp_path / "images").mkdir()
    square = LabelledInstance("1", "tomato", MaskCrop(np.ones((32, 32), bool), 8, 8), np.array([8.0, 8, 40, 40]))
    other = replace(square, id="2", mask=MaskCrop(np.ones((20, 20), bool), 90, 90))
    pictures = []
    for number in range(12):
        image = np.zeros((SIDE, SIDE, 3), np.uint8)
        image[0, 0] = (0, 0, 1)  # BGR: the red value is the count
        cv2.imwrite(str(tmp_path / "images" / f"{number}.png"), image)
        instances = {0: (), 1: (square, other)}.get(number, (square,))
        pictures.append(LabelledPicture(f"{number}.png", (SIDE, SIDE), instances))
    write_coco(LabelSet(tuple(pictures), ("tomato",)), tmp_path / "labels.json")
    return tmp_path


def run(folder: Path, *more: str):
    command = ["run", str(folder / "echo.onnx"), "--data", str(folder / "labels.json"), "--class-map", "*=*",
               "--seconds", "0.2", "--no-pipeline", "--quiet", *more]  # fmt: skip
    return CliRunner().invoke(app, command, catch_exceptions=False)


def test_one_command_gives_the_whole_report(bench: Path) -> None:
    answer = run(bench, "--out", str(bench / "b.json"), "--report", str(bench / "b.html"))
    assert answer.exit_code == 0
    model = json.loads((bench / "b.json").read_text())["models"][0]
    counts = model["accuracy"]["counts"]
    assert (counts["found"], counts["missed"], counts["false_alarms"]) == (11, 1, 1)
    assert model["accuracy"]["figures"]["mask_f1"]["value"] == pytest.approx(22 / 24)
    assert model["accuracy"]["data"]["pictures"] == 12
    assert model["latency"]["call_ms"]["n"] >= 30
    assert model["latency"]["pipeline"] is None
    stages = model["latency"]["stages_ms_per_tile"]
    assert list(stages) == ["preprocess", "infer", "postprocess"]
    assert min(stages.values()) > 0
    assert sum(stages.values()) < 1.5 * model["latency"]["call_ms"]["max_ms"]
    assert model["device"]["energy_j"] is not None or "energy" in model["device"]["missing"]
    assert model["model"]["macs"] == 0
    page = (bench / "b.html").read_text()
    assert "it finds 11 of 12 labelled fruit with 1 false alarm at" in page
    assert [entry["picture"] for entry in model["accuracy"]["worst"]] == ["0.png", "1.png"]


def test_sections_can_be_chosen(bench: Path) -> None:
    answer = run(bench, "--only", "model,accuracy", "--json")
    model = json.loads(answer.output)["models"][0]
    assert "latency" not in model
    assert "device" not in model
    assert "accuracy" in model
    with pytest.raises(SettingsError, match="no section speed"):
        run(bench, "--only", "speed")
    with pytest.raises(SettingsError, match="--tiles-a-call"):
        run(bench, "--tiles-a-call", "two")


def test_ignored_regions_as_masks(bench: Path) -> None:
    """The false alarm of picture 0 lies in an ignored region."""
    (bench / "ignore").mkdir()
    region = np.zeros((SIDE, SIDE), np.uint8)
    region[:64, :64] = 255
    cv2.imwrite(str(bench / "ignore" / "0.png"), region)
    answer = run(bench, "--only", "accuracy", "--ignore-masks", str(bench / "ignore"), "--json")
    accuracy = json.loads(answer.output)["models"][0]["accuracy"]
    assert accuracy["counts"]["false_alarms"] == 0
    ego = accuracy["by_other_rules"]["egomaize"]
    assert ego["ignoring"]["count_error"] < ego["as_background"]["count_error"]


def test_unknown_class_is_an_error_and_not_class_0(bench: Path) -> None:
    with pytest.raises(LabelsError, match="'tomato' is not one of the model's"):
        run(bench, "--only", "accuracy", "--class-map", "")


def test_missing_picture(bench: Path) -> None:
    (bench / "images" / "3.png").unlink()
    with pytest.raises(LabelsError, match=r"1 of 12 labelled pictures are not in .*the first is 3\.png"):
        run(bench)  # told before anything is measured


def test_labels_that_say_nothing(bench: Path) -> None:
    with pytest.raises(SettingsError, match="accuracy needs labels"):
        CliRunner().invoke(app, ["run", str(bench / "echo.onnx"), "--only", "accuracy"], catch_exceptions=False)
    empty = {"images": [], "annotations": [], "categories": [{"id": 1, "name": "tomato"}]}
    (bench / "labels.json").write_text(json.dumps(empty))
    with pytest.raises(LabelsError, match="no picture is named"):
        run(bench)


def test_each_step_is_told(bench: Path) -> None:
    words = ["run", str(bench / "echo.onnx"), "--only", "model,latency", "--seconds", "0.1", "--no-pipeline", "--json"]
    told = CliRunner().invoke(app, words, catch_exceptions=False).stderr
    for step in (
        "MACs and parameters",
        "timed calls",
        "calls of 1 tile ",
        "calls of 4 tiles",
        "peaks of the processor",
    ):
        assert f"echo: {step}" in told.replace("...", " ..."), told
    assert ": 0\n" not in told


def test_the_help_of_the_group_leads_to_the_options() -> None:
    said = " ".join(CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output.split())
    assert "edgekit bench run --help" in said
    assert "--seconds 5 --no-pipeline" in said


def test_the_whole_run_gets_the_asked_threads(bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def refuse(path, *, settings):
        asked.append(settings)
        raise ModelError("enough seen")

    monkeypatch.setattr("edgekit.runtime.models.open_segmenter", refuse)
    command = ["run", str(bench / "echo.onnx"), "--only", "latency", "--seconds", "0.1", "--threads", "1", "--json"]
    answer = CliRunner().invoke(app, command, catch_exceptions=False)
    assert [settings.threads for settings in asked] == [1]
    assert json.loads(answer.stdout)["models"][0]["latency"]["pipeline"] == {"reason": "enough seen"}
