"""The comparison with float32 that every reduced graph has to pass before it gets its name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgekit.contracts import ModelInfo, TileResult
from edgekit.errors import ExportError
from edgekit.export.parity import DEFAULT_THRESHOLD, LIMITS, ParityReport, compare
from edgekit.segment import SegmenterSettings, open_segmenter


def judge(
    reference: Path, candidate: Path, tiles: npt.NDArray[np.uint8], *, settings: SegmenterSettings | None = None
) -> ParityReport:
    """Run both graphs on tiles that did not calibrate anything, and refuse what lies beyond the limits.

    Raises:
        ExportError: the candidate lies beyond the limits of its precision, or returns what is not finite.
    """
    (info, expected), (reduced, got) = _run(reference, tiles, settings), _run(candidate, tiles, settings)
    broken = sum(not finite(result) for result in got)
    if broken:
        raise ExportError(
            f"{reduced.precision}: {broken} of {len(got)} tiles gave scores or boxes that are not finite",
            mend="export fp32, or keep the layers that overflow in float32",
        )
    report = compare(expected, got, info=info, threshold=info.default_threshold or DEFAULT_THRESHOLD)
    faults = report.beyond(LIMITS[reduced.precision])
    if faults:
        raise ExportError(
            f"{reduced.precision} was refused on {len(tiles)} held tiles: {'; '.join(faults)}",
            mend="give more and better calibration pictures, or keep fp32",
        )
    return report


def finite(result: TileResult) -> bool:
    """Whether all scores and boxes of a tile are numbers."""
    columns: Sequence[npt.NDArray[np.float32]] = (result.instances.scores, result.instances.boxes_xyxy)
    return all(bool(np.isfinite(column).all()) for column in columns)


def _run(
    path: Path, tiles: npt.NDArray[np.uint8], settings: SegmenterSettings | None
) -> tuple[ModelInfo, list[TileResult]]:
    segmenter = open_segmenter(path, settings=settings)
    try:
        return segmenter.info, segmenter.segment(tiles)
    finally:
        segmenter.close()
