"""Fixtures of the export tests: an untrained YOLO graph, exported once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from edgekit.export.recipe import Recipe

SMALL = Recipe(
    model="yolo11", classes=("fruit", "leaf"), variant="n", tile_size_px=128, inner_size_px=128, max_detections=20,
    nms_candidates=64, score_floor=0.0, nms_iou=0.9,
)  # fmt: skip
"""Fast to export and to run; an untrained head gives every anchor a small score, so a floor of 0 gives full rows."""


def silent(stage: str, done: int, total: int | None = None) -> None:
    """No progress."""


def make(folder: Path, recipe: Recipe = SMALL, *, seed: int = 3) -> Path:
    """Export an untrained model and return the graph."""
    pytest.importorskip("ultralytics")
    from edgekit.export.builder import Weights
    from edgekit.export.export import Request, export_all

    return export_all(Request(recipe, Weights(untrained_seed=seed), folder), progress=silent)[0].path


@pytest.fixture(scope="session")
def small_graph(tmp_path_factory) -> Path:
    return make(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def small_graph_for_tensorrt(tmp_path_factory) -> Path:
    return make(tmp_path_factory.mktemp("small-trt"), replace(SMALL, targets=("tensorrt",)))


@pytest.fixture(scope="session")
def small_graph_of_four(tmp_path_factory) -> Path:
    return make(tmp_path_factory.mktemp("small-b4"), replace(SMALL, batch=4))


@pytest.fixture(scope="session")
def tomato_weights(shared) -> Path:
    return shared / "weights" / "tomato-yolo11n-seg.pt"
