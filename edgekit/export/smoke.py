"""Does a finished engine do on one tile what its graph does? One that loads on the wrong device may not."""

from __future__ import annotations

from pathlib import Path

from edgekit.errors import EngineError
from edgekit.export.parity import DEFAULT_THRESHOLD, LIMITS, compare
from edgekit.segment import open_segmenter
from edgekit.segment.smoke import smoke_tile


def smoke_test(graph: Path, engine: Path) -> None:
    """Run the tile through the graph on the CPU and through the engine.

    Raises:
        EngineError: the engine lies beyond the limits of its precision. It is removed.
    """
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
