"""Does a finished engine do on one tile what its graph does? One that loads on the wrong device may not."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from edgekit.errors import EngineError
from edgekit.export.parity import DEFAULT_THRESHOLD, LIMITS, compare
from edgekit.segment import open_segmenter
from edgekit.segment.open import BACKENDS


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


def smoke_test(graph: Path, engine: Path) -> None:
    """Run the tile through the graph on the CPU and through the engine; without a backend for engines, do nothing.

    Raises:
        EngineError: the engine lies beyond the limits of its precision. It is removed.
    """
    if engine.suffix not in BACKENDS:
        return
    reference, candidate = open_segmenter(graph), open_segmenter(engine)
    try:
        tiles = smoke_tile(reference.info.tile_size_px)[None]
        threshold = reference.info.default_threshold or DEFAULT_THRESHOLD
        report = compare(reference.segment(tiles), candidate.segment(tiles), info=reference.info, threshold=threshold)
    finally:
        reference.close()
        candidate.close()
    limits = LIMITS["fp16" if reference.info.precision == "fp32" else reference.info.precision]
    faults = report.beyond(limits)
    if faults:
        engine.unlink(missing_ok=True)
        raise EngineError(
            f"{engine.name} does not do what its graph does: {'; '.join(faults)}", mend="build it again on this device"
        )
