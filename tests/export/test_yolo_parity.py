"""The tomato model against Ultralytics' own predict on real tiles, and the shipped model as it lies in the package."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("ultralytics")

TILES = 50


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.torch
def test_every_detection_of_ultralytics_is_matched(tmp_path, shared, tomato_weights):
    from edgekit.export.artifacts import open_pair
    from edgekit.export.builder import Weights
    from edgekit.export.export import Request, export_all
    from edgekit.export.parity import LIMITS, compare
    from edgekit.export.pictures import read_tiles
    from edgekit.export.recipe import find_recipe, read_recipe
    from edgekit.segment import SegmenterSettings

    recipe = read_recipe(find_recipe("yolo11"))
    (artifact,) = export_all(Request(recipe, Weights(tomato_weights), tmp_path), progress=lambda *_: None)
    pair = open_pair(tomato_weights, artifact.path, settings=SegmenterSettings(threads=1))
    images = shared / "data" / "tomato_val_tiles" / "images"
    tiles = read_tiles(images, size_px=512, limit=TILES, at_least=TILES).tiles
    first, second = (side.segment(tiles) for side in pair)
    report = compare(first, second, info=pair[1].info, threshold=0.5)
    assert report.beyond(LIMITS["fp32"]) == []
    assert (report.unmatched, report.exempt) == (0, 0)
    assert report.matched > 50


def test_a_checkpoint_takes_its_settings_from_the_graph(tomato_weights):
    from edgekit.export.artifacts import open_pair
    from edgekit.segment import SegmenterSettings

    graph = files("edgekit") / "assets" / "fruit-yolo11n-seg.onnx"
    eager, session = open_pair(tomato_weights, graph, settings=SegmenterSettings(threads=1))
    assert replace(eager.info, weights_digest="", weights_licence="", exporter={}, default_threshold=None) == replace(
        session.info, weights_digest="", weights_licence="", exporter={}, default_threshold=None
    )


def test_two_checkpoints_are_not_compared(tomato_weights):
    from edgekit.errors import ModelError
    from edgekit.export.artifacts import open_pair
    from edgekit.segment import SegmenterSettings

    with pytest.raises(ModelError, match="both checkpoints"):
        open_pair(tomato_weights, tomato_weights, settings=SegmenterSettings())


def test_the_shipped_model_is_small_and_says_what_it_is():
    from edgekit.segment import SegmenterSettings, open_segmenter

    path = files("edgekit") / "assets" / "fruit-yolo11n-seg.onnx"
    assert path.stat().st_size <= 13e6
    info = open_segmenter(path, settings=SegmenterSettings(threads=1)).info
    assert info.class_names == ("fruit",)
    assert info.weights_licence == "AGPL-3.0"
    assert info.default_threshold is not None
    assert not info.untrained
