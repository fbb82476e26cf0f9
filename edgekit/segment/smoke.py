"""Does an engine do what its graph does? One that was built for another device may load and give wrong results."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from edgekit.contracts import Instances, Segmenter
from edgekit.errors import EngineError
from edgekit.masks import iou

SURE_SCORE = 0.25
"""Objects that either finds more surely than this have to be found by both; half precision moves scores by 0.01."""
SAME_IOU = 0.5


def smoke_tile(size_px: int) -> npt.NDArray[np.uint8]:
    """A tile that is the same everywhere: red, orange and yellow discs of fruit's size before green, shaded."""
    tile = np.full((size_px, size_px, 3), (40, 90, 35), np.uint8)
    rng = np.random.default_rng(0)
    for x, y, radius in zip(
        rng.integers(0, size_px, 12), rng.integers(0, size_px, 12), rng.integers(20, 45, 12), strict=True
    ):
        colour = [(200, 40, 30), (220, 120, 30), (230, 200, 40)][int(radius) % 3]
        for shade in range(4):
            lit = tuple(min(255, value + 12 * shade) for value in colour)
            centre = (int(x) - 3 * shade, int(y) - 3 * shade)
            cv2.circle(tile, centre, max(int(radius) - 8 * shade, 1), lit, -1, cv2.LINE_AA)
    return tile


def check_against_graph(graph: Path, engine: Segmenter, *, name: str) -> None:
    """Run one tile through the graph on the CPU and through the engine: what one surely sees, the other must see.

    Args:
        graph: ONNX file that the engine was built from.
        engine: the opened engine.
        name: of the engine, for the message.

    Raises:
        EngineError: they differ.
    """
    from edgekit.segment.onnx_runtime import OnnxRuntimeSegmenter
    from edgekit.segment.settings import SegmenterSettings

    reference = OnnxRuntimeSegmenter(graph, SegmenterSettings())
    try:
        tiles = smoke_tile(reference.info.tile_size_px)[None]
        wanted, got = (side.segment(tiles)[0].instances for side in (reference, engine))
    finally:
        reference.close()
    missed, extra = _unseen(wanted, got), _unseen(got, wanted)
    if missed or extra:
        raise EngineError(
            f"{name} does not do what {graph.name} does: it misses {missed} objects of {len(wanted)} and adds {extra}",
            mend="build it again on this device",
        )


def _unseen(found: Instances, other: Instances) -> int:
    """Sure objects of one side without a partner on the other."""
    sure = np.flatnonzero(found.scores >= SURE_SCORE)
    return sum(not any(iou(found.masks[row], mask) >= SAME_IOU for mask in other.masks) for row in sure)
