"""What runs for hours must not grow: 3000 batches of the default model on the CPU."""

from __future__ import annotations

import numpy as np
import psutil
import pytest
from gpu.checks import memory_is_steady
from segment.graphs import INFO, echo_graph, tiles_with_counts

from edgekit.runtime.default_model import default_model_path
from edgekit.segment import SegmenterSettings, open_segmenter
from edgekit.segment.smoke import smoke_tile


def resident():
    return {"host": psutil.Process().memory_info().rss / 2**20}


@pytest.mark.slow
def test_the_default_model_does_not_grow():
    segmenter = open_segmenter(default_model_path(), settings=SegmenterSettings(threads=1))
    tile = smoke_tile(segmenter.info.tile_size_px)
    tiles = np.stack([tile, np.zeros_like(tile), tile[::-1]])
    memory_is_steady(segmenter, tiles, batches=3000, measure=resident)


def test_a_small_graph_does_not_grow(tmp_path):
    segmenter = open_segmenter(echo_graph(tmp_path / "m.onnx", INFO))
    memory_is_steady(segmenter, tiles_with_counts(0, 5, 2), batches=3000, measure=resident, limit_mb=5)
