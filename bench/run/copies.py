"""Copies of a model with a thread each, against one copy with all threads: time a tile, side by side.

    python bench/run/copies.py --model M.onnx --picture PICTURE [--threads 2] [--pairs 7] [--json]

The two sides alternate; the ratio is taken pair by pair, so that a load that comes and goes hits both.
"""

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from edgekit.contracts import Segmenter
from edgekit.runtime.models import segment_all
from edgekit.runtime.row_pass import Batch
from edgekit.runtime.sources.pictures import read_picture
from edgekit.segment import SegmenterSettings, open_segmenter
from edgekit.tiles import TileSettings, cut_tile, plan_tiles


def batches_of(picture: Path, size_px: int, batch: int) -> list[Batch]:
    image = read_picture(picture)
    specs = plan_tiles((image.shape[1], image.shape[0]), TileSettings(size_px=size_px))
    groups = [specs[start : start + batch] for start in range(0, len(specs), batch)]
    return [Batch(None, group, np.stack([cut_tile(image, spec) for spec in group])) for group in groups]


def ms_a_tile(batches: Sequence[Batch], models: Sequence[Segmenter]) -> float:
    began = time.perf_counter()
    tiles = sum(len(results) for _, results in segment_all(batches, models))
    return (time.perf_counter() - began) * 1e3 / tiles


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--picture", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    whole = [open_segmenter(options.model, settings=SegmenterSettings(threads=options.threads))]
    single = SegmenterSettings(threads=1)
    copies = [open_segmenter(options.model, settings=single) for _ in range(options.threads)]
    batches = batches_of(options.picture, whole[0].info.tile_size_px, whole[0].info.batch)
    ms_a_tile(batches[:2], whole), ms_a_tile(batches[:2], copies)  # warm-up
    pairs = [(ms_a_tile(batches, whole), ms_a_tile(batches, copies)) for _ in range(options.pairs)]
    result = {
        "one_copy_ms": statistics.median(one for one, _ in pairs),
        "copies_ms": statistics.median(many for _, many in pairs),
        "ratio": statistics.median(one / many for one, many in pairs),
        "pairs": pairs,
    }
    if options.json:
        print(json.dumps(result, indent=2))
        return
    print(f"one copy, {options.threads} threads: {result['one_copy_ms']:.1f} ms a tile")
    print(
        f"{options.threads} copies, a thread each: {result['copies_ms']:.1f} ms a tile, {result['ratio']:.2f} x as fast"
    )


if __name__ == "__main__":
    main()
