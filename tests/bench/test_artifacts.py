"""Which artifact of a model is benched."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from edgekit.bench import artifacts
from edgekit.bench.artifacts import choose_artifacts
from edgekit.contracts import ModelInfo
from edgekit.errors import ModelError

INFO = ModelInfo(
    1, "yolo11", ("fruit",), 512, 512, 1, 300, None, "tile", 128, 0.05, 0.7, "fp32", "d" * 64, "AGPL-3.0", {}
)  # fmt: skip
OTHER = replace(INFO, weights_digest="e" * 64)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    known = {"a.onnx": INFO, "a-b4.onnx": replace(INFO, batch=4), "other-b8.onnx": replace(OTHER, batch=8)}
    for name in (*known, "notes.txt"):
        (tmp_path / name).touch()
    monkeypatch.setattr(artifacts, "read_artifact_info", lambda path: known[path.name])
    return tmp_path


def test_without_a_batch_files_are_taken_as_they_are(folder):
    assert choose_artifacts([folder / "a.onnx", folder / "a.onnx"], None) == [folder / "a.onnx"]
    assert [path.name for path in choose_artifacts([folder], None)] == ["a-b4.onnx", "a.onnx", "other-b8.onnx"]


def test_a_batch_picks_the_artifact_of_the_same_model(folder):
    assert choose_artifacts([folder / "a.onnx"], 1) == [folder / "a.onnx"]
    assert choose_artifacts([folder / "a.onnx"], 4) == [folder / "a-b4.onnx"]
    assert choose_artifacts([folder], 8) == [folder / "other-b8.onnx"]


def test_a_batch_that_no_artifact_has_is_refused_with_what_there_is(folder):
    with pytest.raises(ModelError, match=r"a.onnx takes 1 tile a call.*takes 8"):  # 8 is another model's
        choose_artifacts([folder / "a.onnx"], 8)
    with pytest.raises(ModelError, match=r"no model in .* takes 2 tiles a call: a-b4.onnx has 4"):
        choose_artifacts([folder], 2)
    (folder / "empty").mkdir()
    with pytest.raises(ModelError, match="no model in"):
        choose_artifacts([folder / "empty"], None)
