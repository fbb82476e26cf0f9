"""The comparison with float32 that every reduced graph has to pass before it gets its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgekit.contracts import ModelInfo, Progress, TileResult, no_progress
from edgekit.errors import ExportError
from edgekit.export.parity import DEFAULT_THRESHOLD, LIMITS, ParityReport, compare
from edgekit.export.pictures import spread
from edgekit.export.refused import MENDS, RefusedError
from edgekit.segment import SegmenterSettings, open_segmenter

MOST_HELD = 96
"""Tiles that are compared at most: some 200 fruit in a greenhouse, and still minutes with the slowest model."""
MOST_CALIBRATING = 64
"""Tiles that calibrate at most. Ranges hardly move beyond, and they only ever grow."""
HELD_EVERY = 3
"""One of so many tiles is held back where there are not enough for both."""


def split(tiles: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Tiles that calibrate, spread evenly, and those that are held back from it: a third, or more where there are many.

    Args:
        tiles: uint8, N x S x S x 3.
    """
    held = -(-len(tiles) // HELD_EVERY)
    calibrating = spread(range(len(tiles)), min(MOST_CALIBRATING, len(tiles) - held))
    rest = np.setdiff1d(np.arange(len(tiles)), calibrating)
    return tiles[calibrating], tiles[spread(rest.tolist(), MOST_HELD)]


def judge(
    reference: Path,
    candidate: Path,
    tiles: npt.NDArray[np.uint8],
    *,
    settings: SegmenterSettings | None = None,
    labelled: bool = False,
    progress: Progress = no_progress,
) -> ParityReport:
    """Run both graphs on tiles that did not calibrate anything, and refuse what lies beyond the limits.

    Args:
        reference: float32 graph.
        candidate: the reduced graph of the same weights.
        tiles: uint8, N x S x S x 3.
        settings: how both are opened.
        labelled: labels will decide on what is found at the threshold; the count is told and not judged.
        progress: told how many tiles are done, a stage for each graph.

    Raises:
        RefusedError: the candidate lies beyond the limits of its precision.
        ExportError: it returns what is not finite.
    """
    results: list[list[TileResult]] = []
    infos: list[ModelInfo] = []
    for path in (reference, candidate):
        segmenter = open_segmenter(path, settings=settings)
        infos.append(segmenter.info)
        found: list[TileResult] = []
        try:
            for start in range(0, len(tiles), segmenter.info.batch):
                progress(f"held tiles in {segmenter.info.precision}", start, len(tiles))
                found += segmenter.segment(tiles[start : start + segmenter.info.batch])
        finally:
            segmenter.close()
        progress(f"held tiles in {segmenter.info.precision}", len(tiles), len(tiles))
        results.append(found)
    return _verdict(infos, results, labelled=labelled)


def _verdict(infos: Sequence[ModelInfo], results: Sequence[list[TileResult]], *, labelled: bool) -> ParityReport:
    precision, (expected, got) = infos[1].precision, results
    broken = sum(not finite(result) for result in got)
    if broken:
        raise ExportError(
            f"{precision}: {broken} of {len(got)} tiles gave scores or boxes that are not finite",
            mend="export fp32, or keep the layers that overflow in float32",
        )
    report = compare(expected, got, info=infos[0], threshold=infos[0].default_threshold or DEFAULT_THRESHOLD)
    limits = replace(LIMITS[precision], count_difference_share=None) if labelled else LIMITS[precision]
    faults = report.beyond(limits)
    if faults:
        raise RefusedError(
            f"{precision} was refused on {len(got)} held tiles: {'; '.join(faults)}",
            mend=MENDS[precision],
            figures={"parity": report.summary()},
        )
    return report


def finite(result: TileResult) -> bool:
    """Whether all scores and boxes of a tile are numbers."""
    columns: Sequence[npt.NDArray[np.float32]] = (result.instances.scores, result.instances.boxes_xyxy)
    return all(bool(np.isfinite(column).all()) for column in columns)
