"""`edgekit bench score`: results of other tools, whole or not."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from edgekit.bench.accuracy.evaluate import AccuracySettings
from edgekit.bench.accuracy_section import accuracy_section
from edgekit.bench.advice import advise
from edgekit.cli.bench import app
from edgekit.contracts import MaskCrop
from edgekit.errors import LabelsError
from edgekit.labels import LabelledInstance, LabelledPicture, LabelSet, write_coco
from tests.bench.scenes import scene

pytest.importorskip("hotcoco")
pytest.importorskip("matplotlib")


def labelled(folder: Path, *, objects: int = 2) -> Path:
    """COCO labels of twelve pictures with so many squares each."""
    square = np.ones((8, 8), bool)
    pictures = tuple(
        LabelledPicture(f"{n}.png", (48, 48), tuple(
            LabelledInstance(f"{n}{x}", "fruit", MaskCrop(square, x, 4), np.array([x, 4.0, x + 8, 12]))
            for x in range(4, 4 + 20 * objects, 20)
        )) for n in range(12)
    )  # fmt: skip
    write_coco(LabelSet(pictures, ("fruit",)), folder / "labels.json")
    return folder / "labels.json"


def result(**changes: object) -> dict[str, object]:
    return {"image_id": 1, "category_id": 1, "score": 0.9, "bbox": [4, 4, 8, 8]} | changes


def score(folder: Path, results: object, *more: str, labels: Path | None = None):
    (folder / "results.json").write_text(json.dumps(results))
    command = ["score", str(folder / "results.json"), "--data", str(labels or labelled(folder)), *more]
    return CliRunner().invoke(app, command)


@pytest.mark.parametrize(
    ("results", "told"),
    [
        ([result(), result(score=float("nan"))], "no finite number in .* 1 of 2, the first in result 1: nan"),
        ([result(score="high")], "no finite number .* 'high'"),
        ([result(), result(score=87)], "outside 0 to 1 .* 1 of 2, the first in result 1: 87 - .* divided by 100"),
        ([3, 4], "no list of COCO results"),
        ({"models": []}, "no list of COCO results"),
        ([result(image_id=[1])], "does not belong to"),
    ],
)
def test_results_whose_figures_would_be_wrong_are_refused(results, told, tmp_path: Path) -> None:
    answer = score(tmp_path, results)
    assert isinstance(answer.exception, LabelsError)
    assert re.search(told, str(answer.exception))


@pytest.mark.parametrize(
    "shape",
    [
        {"bbox": [1, 2, 3]}, {"bbox": "all"}, {"bbox": [1, 2, float("inf"), 3]}, {"bbox": [1, 2, -3, 3]},
        {"bbox": [1e300, 1e300, 1, 1]}, {"bbox": None}, {"segmentation": "x"}, {"segmentation": [[1, 2]]},
        {"segmentation": {"size": [9, 9], "counts": "x"}},
        {"segmentation": {"size": 9}}, {"segmentation": {"size": [48, 48], "counts": 7}},
    ],
)  # fmt: skip
def test_results_with_an_odd_shape_are_counted_before_the_figures(shape, tmp_path: Path) -> None:
    answer = score(tmp_path, [result(), result(**shape)], "--quiet", "--out", str(tmp_path / "a.json"))
    assert answer.exit_code == 0, answer.exception
    assert answer.stderr.startswith("refused: annotation results.json#1: ")
    assert answer.stdout == ""
    remarks = json.loads((tmp_path / "a.json").read_text())["models"][0]["accuracy"]["remarks"]
    assert any("1 of 2 results were left out" in text for text in remarks)


def test_empty_sides_are_told(tmp_path: Path) -> None:
    nothing = labelled(tmp_path, objects=0)
    answer = score(tmp_path, [], labels=nothing)
    assert "nothing to score" in str(answer.exception)
    assert "every prediction is a false alarm" in score(tmp_path, [result()], labels=nothing).stdout
    assert "every label is missed" in score(tmp_path, []).stdout
    truth, predictions = scene(3, pictures=2, most=1)
    bare = replace(predictions, picture=predictions.picture[:0], label=predictions.label[:0],
                   boxes_xyxy=predictions.boxes_xyxy[:0], scores=predictions.scores[:0], masks=())  # fmt: skip
    section = {"name": "x", "accuracy": accuracy_section(truth, bare, AccuracySettings())}
    assert advise([section]).reasons == ("neither labels nor predictions hold an object: nothing can be judged",)


def test_swapped_files_are_told(tmp_path: Path) -> None:
    labels, results = labelled(tmp_path), tmp_path / "results.json"
    results.write_text(json.dumps([result()]))
    for first, second, told in ((labels, labels, "holds labels, no results"), (labels, results, "holds results, no")):
        answer = CliRunner().invoke(app, ["score", str(first), "--data", str(second)])
        assert told in str(answer.exception)


def test_reports_that_cannot_be_written_are_told_first(tmp_path: Path) -> None:
    assert "let it end in one of" in str(score(tmp_path, [], "--report", "x.pdf").exception)
    assert "it is a folder" in str(score(tmp_path, [], "--out", str(tmp_path)).exception)
    assert "the threshold is 50" in str(score(tmp_path, [], "--threshold", "50").exception)
    assert "no class leaf" in str(score(tmp_path, [result()], "--ignore-classes", "leaf").exception)
    deep = tmp_path / "new" / "deep" / "a.json"
    assert score(tmp_path, [result()], "--out", str(deep)).exit_code == 0
    assert deep.is_file()
