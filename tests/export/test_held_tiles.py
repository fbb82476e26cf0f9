"""Which tiles calibrate, which are held back, and what a refusal carries."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from segment.graphs import INFO, echo_graph, tiles_with_counts
from typer.testing import CliRunner

held_tiles = pytest.importorskip("edgekit.export.held_tiles")
from edgekit.export.refused import RefusedError  # noqa: E402

pytest.importorskip("onnx")


@given(st.integers(12, 400))
def test_tiles_that_calibrate_are_never_compared_and_many_are_held_where_there_are_many(number):
    tiles = np.arange(number).reshape(-1, 1, 1, 1)
    calibrating, held = (set(side.ravel().tolist()) for side in held_tiles.split(tiles))
    assert not calibrating & held
    assert 8 <= len(calibrating) <= held_tiles.MOST_CALIBRATING
    assert len(held) == min(held_tiles.MOST_HELD, number - len(calibrating))
    assert len(held) >= number // 3 or len(held) == held_tiles.MOST_HELD


@pytest.fixture
def pair(tmp_path):
    """A graph and one in int8 that drops a fruit of five: 1 of 9 detections, 20 % of the count."""
    good = echo_graph(tmp_path / "a.onnx")
    return good, echo_graph(tmp_path / "b.onnx", replace(INFO, precision="int8", max_detections=4))


def test_a_refusal_carries_the_figures_and_says_how_far_the_work_is(pair):
    told = []
    with pytest.raises(RefusedError, match=r"on 3 held tiles: count at 0\.5: 12 for 15, -20\.0 %") as refused:
        held_tiles.judge(*pair, tiles_with_counts(5, 5, 5), progress=lambda *step: told.append(step))
    assert refused.value.exit_code == 35
    assert refused.value.figures["parity"]["count_difference_share"] == -0.2
    for precision in ("fp32", "int8"):
        steps = [done for stage, done, total in told if (stage, total) == (f"held tiles in {precision}", 3)]
        assert (steps[0], steps[-1], steps) == (0, 3, sorted(steps))


def test_with_labels_the_count_of_the_tiles_is_told_and_not_judged(pair):
    assert held_tiles.judge(*pair, tiles_with_counts(5, 5, 5), labelled=True).candidate_count == 12


@pytest.mark.torch
def test_the_command_prints_the_figures_of_a_refusal_as_json(tmp_path, monkeypatch):
    pytest.importorskip("ultralytics")
    from edgekit.cli.export import app
    from edgekit.export import export

    def refuse(*_, **__):
        raise RefusedError("int8 was refused: x", mend="keep fp32", figures={"parity": {"tiles": 3}})

    monkeypatch.setattr(export, "export_all", refuse)
    outcome = CliRunner().invoke(app, ["yolo11", "--untrained", "1", "--out", str(tmp_path), "--json", "--quiet"])
    assert isinstance(outcome.exception, RefusedError)
    told = json.loads(outcome.stdout)
    assert told == {"refused": "int8 was refused: x", "mend": "keep fp32", "parity": {"tiles": 3}}
