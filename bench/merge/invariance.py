"""How much the count of real pictures changes when the grid of tiles is moved, beside sahi on the same grids.

    python bench/merge/invariance.py --data SET [SET ...] --model M.onnx [--weights W.pt] [--overlap 96 ...]
        [--second-look] [--scan] [--threshold 0.5] [--cache DIR] [--json FILE]

SET holds `instances.json`, `images/`, and `val.txt` where only some of them are meant. The grid is moved to the left
and up by 64, 128 and 256 px. sahi's merging is always asked for the same detections (`pip install sahi==0.12.*`); with
--weights (of the same model) also sahi's whole sliced prediction with Ultralytics. --scan tries other merge settings.
Detections are kept in --cache, so that a second run with other settings takes seconds.

Columns, in percent of the first grid's count: the worst and the mean change of the total; the sum of the changes of
each picture; fruit found on both grids whose score is above the threshold on one only ("crossed", and what is left of
them as ups and downs cancel); fruit without counterpart. F1 is against the labels, over all grids.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from changes import PHASES_PX, Counted, summary, table
from pictures import Picture, TileDetections, pictures_of
from sahi_grids import SahiGrids, sahi_merge

from edgekit.contracts import MaskCrop, TileSpec
from edgekit.segment import SegmenterSettings, open_segmenter
from edgekit.tiles import MergeSettings, TileSettings, merge, plan_tiles, second_look

SizeWh = tuple[int, int]
Count = Callable[[Picture, SizeWh, int], Counted]
"""Counts one picture on the grid that is moved by so many pixels."""

SCAN = (
    ("min_agreement", (0.35, 0.65)),
    ("min_containment", (0.4, 0.6, 0.7, 0.85)),
    ("similar_score", (0.2, 0.35, 0.65, 0.8)),
    ("border_px", (2, 4, 8)),
)


class Methods:
    """The ways to count that are compared.

    Args:
        detections: what the model says of each tile.
        threshold: fruit count from this score on.
    """

    def __init__(self, detections: TileDetections, threshold: float) -> None:
        self._detections = detections
        self._threshold = threshold

    def edgekit(self, tiles: TileSettings, settings: MergeSettings, *, look_twice: bool = False) -> Count:
        def count(picture: Picture, size_wh: SizeWh, phase_px: int) -> Counted:
            specs = plan_tiles(size_wh, tiles, phase_px=(phase_px, phase_px))
            results = self._detections.of(picture, specs)
            merged = merge(specs, results, size_wh, settings)
            extra = second_look(merged, specs, size_wh, tiles) if look_twice else ()
            if extra:
                looks = list(zip(extra, self._detections.of(picture, extra), strict=True))
                merged = merge(specs, results, size_wh, settings, looks=looks)
            above = merged.instances.scores >= np.float32(self._threshold)
            return Counted(merged.instances.masks, above, len(specs) + len(extra))

        return count

    def sahi_merge(self, tiles: TileSettings) -> Count:
        def count(picture: Picture, size_wh: SizeWh, phase_px: int) -> Counted:
            specs = plan_tiles(size_wh, tiles, phase_px=(phase_px, phase_px))
            return all_of(sahi_merge(specs, self._detections.of(picture, specs), size_wh, self._threshold), specs)

        return count

    def sahi(self, tiles: TileSettings, grids: SahiGrids) -> Count:
        def count(picture: Picture, size_wh: SizeWh, phase_px: int) -> Counted:
            padded = plan_tiles((size_wh[0] + phase_px, size_wh[1] + phase_px), tiles)
            return all_of(grids.of(picture, tiles.overlap_px, phase_px), padded)

        return count


def all_of(masks: Sequence[MaskCrop], specs: Sequence[TileSpec]) -> Counted:
    return Counted(tuple(masks), np.ones(len(masks), np.bool_), len(specs))


def compared(options: argparse.Namespace) -> list[tuple[str, int, Count]]:
    """Name, overlap and way of counting of every line of the table."""
    segmenter = open_segmenter(options.model, settings=SegmenterSettings(threads=options.threads))
    methods = Methods(TileDetections(segmenter, options.cache), options.threshold)
    lines: list[tuple[str, int, Count]] = []
    for overlap_px in options.overlap:
        tiles, settings = TileSettings(segmenter.info.tile_size_px, overlap_px), MergeSettings()
        lines.append(("edgekit", overlap_px, methods.edgekit(tiles, settings)))
        if options.second_look:
            lines.append(("edgekit, second look", overlap_px, methods.edgekit(tiles, settings, look_twice=True)))
        lines.append(("sahi's merging", overlap_px, methods.sahi_merge(tiles)))
        if options.weights:
            grids = SahiGrids(options.weights, options.cache, options.threshold)
            lines.append(("sahi", overlap_px, methods.sahi(tiles, grids)))
        for name, values in SCAN if options.scan else ():
            for value in values:
                tried = replace(settings, **{name: value})
                lines.append((f"{name} {value}", overlap_px, methods.edgekit(tiles, tried)))
    return lines


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--overlap", type=int, nargs="+", default=[TileSettings().overlap_px])
    parser.add_argument("--second-look", action="store_true")
    parser.add_argument("--scan", action="store_true")
    parser.add_argument("--threshold", type=float, default=0.5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cache", type=Path, default=Path("merge-cache"))
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def main() -> None:
    options = arguments()
    pictures = pictures_of(options.data)
    sizes_wh = [picture.read().shape[1::-1] for picture in pictures]
    labels = [picture.labels() for picture in pictures]
    rows = []
    for name, overlap_px, count in compared(options):
        counts = [
            [count(picture, size_wh, phase_px) for phase_px in PHASES_PX]
            for picture, size_wh in zip(pictures, sizes_wh, strict=True)
        ]
        rows.append(summary(name, overlap_px, counts, labels))
        print(f"{name} at {overlap_px} px: {rows[-1]['totals']}", file=sys.stderr)
    print(f"{len(pictures)} pictures, {sum(map(len, labels))} labelled fruit, threshold {options.threshold:g}")
    print(table(rows))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
