"""How much the count of real pictures changes when the grid of tiles is moved, beside sahi on the same grids.

    python bench/merge/invariance.py --data SET [SET ...] --model M.onnx [--weights W.pt] [--overlap 96 ...]
        [--threshold 0.5] [--cache DIR] [--json FILE]

SET holds `images/` (and `val.txt` where only some of them are meant). The grid is moved to the left and up by 64, 128
and 256 px. With --weights (of the same model) sahi with Ultralytics is asked as well (`pip install sahi==0.12.*
ultralytics`). Detections are kept in --cache, so that a second run with other merge settings takes seconds.
"""

import argparse
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from pictures import Picture, TileDetections, pictures_of
from sahi_grids import SahiGrids, sahi_merge

from edgekit.contracts import MaskCrop
from edgekit.masks import bounds_xyxy, iou
from edgekit.segment import SegmenterSettings, open_segmenter
from edgekit.tiles import MergeSettings, TileSettings, merge, plan_tiles

PHASES_PX = (0, 64, 128, 256)
SAME_FRUIT_IOU = 0.5


@dataclass(frozen=True)
class Counted:
    """What one grid says of one picture: every fruit above the floor, and which of them are counted."""

    masks: tuple[MaskCrop, ...]
    counted: np.ndarray

    @property
    def count(self) -> int:
        return int(self.counted.sum())


@dataclass
class Change:
    """What moving the grid changed, summed over pictures."""

    phase_px: int
    total: int = 0
    pictures: int = 0
    largest: int = 0
    """Largest change of one picture's count."""
    absolute: int = 0
    """Sum of the changes of each picture's count."""
    crossed_up: int = 0
    """Fruit found on both grids whose score passed the threshold on this one only."""
    crossed_down: int = 0
    new: int = 0
    """Counted fruit that have no counterpart on the first grid, whatever its score."""
    lost: int = 0

    def add(self, base: Counted, moved: Counted) -> None:
        change = abs(moved.count - base.count)
        self.total += moved.count
        self.pictures += change > 0
        self.largest = max(self.largest, change)
        self.absolute += change
        pairs = matched(base.masks, moved.masks)
        self.crossed_down += sum(bool(base.counted[i] and not moved.counted[j]) for i, j in pairs)
        self.crossed_up += sum(bool(moved.counted[j] and not base.counted[i]) for i, j in pairs)
        self.lost += base.count - sum(bool(base.counted[i]) for i, _ in pairs)
        self.new += moved.count - sum(bool(moved.counted[j]) for _, j in pairs)


def matched(one: tuple[MaskCrop, ...], other: tuple[MaskCrop, ...]) -> list[tuple[int, int]]:
    """Pairs of masks that are the same fruit, best IoU first."""
    boxes, others = (np.array([bounds_xyxy(mask) for mask in masks]).reshape(-1, 4) for masks in (one, other))
    touch = (boxes[:, None, :2] < others[None, :, 2:]).all(2) & (others[None, :, :2] < boxes[:, None, 2:]).all(2)
    found = [(iou(one[i], other[j]), i, j) for i, j in np.argwhere(touch).tolist()]
    pairs: list[tuple[int, int]] = []
    for overlap, i, j in sorted(found, key=lambda pair: (-pair[0], pair[1:])):
        if overlap >= SAME_FRUIT_IOU and all(i != first and j != second for first, second in pairs):
            pairs.append((i, j))
    return pairs


class Study:
    """Counts of all pictures on all grids."""

    def __init__(self, pictures: list[Picture], threshold: float) -> None:
        self.pictures = pictures
        self.threshold = threshold
        self.sizes_wh = [picture.read().shape[1::-1] for picture in pictures]

    def edgekit(self, detections: TileDetections, tiles: TileSettings, settings: MergeSettings) -> list[list[Counted]]:
        return [
            [self._merged(detections, at, plan_tiles(self.sizes_wh[at], tiles, phase_px=(phase, phase)), settings)
             for phase in PHASES_PX] for at in range(len(self.pictures))
        ]  # fmt: skip

    def sahi(self, grids: SahiGrids, overlap_px: int) -> list[list[Counted]]:
        rows = []
        for picture in self.pictures:
            masks = [tuple(grids.of(picture, overlap_px, phase)) for phase in PHASES_PX]
            rows.append([Counted(found, np.ones(len(found), bool)) for found in masks])
        return rows

    def sahi_merge(self, detections: TileDetections, tiles: TileSettings) -> list[list[Counted]]:
        rows = []
        for picture, size_wh in zip(self.pictures, self.sizes_wh, strict=True):
            row = []
            for phase in PHASES_PX:
                specs = plan_tiles(size_wh, tiles, phase_px=(phase, phase))
                found = tuple(sahi_merge(specs, detections.of(picture, specs), size_wh, self.threshold))
                row.append(Counted(found, np.ones(len(found), bool)))
            rows.append(row)
        return rows

    def _merged(self, detections: TileDetections, at: int, specs: tuple, settings: MergeSettings) -> Counted:
        merged = merge(specs, detections.of(self.pictures[at], specs), self.sizes_wh[at], settings)
        return Counted(merged.instances.masks, merged.instances.scores >= np.float32(self.threshold))


def changes(rows: list[list[Counted]]) -> list[Change]:
    """One change for each phase; the first is the grid that the others are compared with."""
    found = [Change(phase) for phase in PHASES_PX]
    for row in rows:
        for change, moved in zip(found, row, strict=True):
            change.add(row[0], moved)
    return found


def summary(name: str, overlap_px: int, rows: list[list[Counted]]) -> dict:
    found = changes(rows)
    base = found[0].total
    moved = found[1:]
    return {
        "method": name, "overlap_px": overlap_px, "totals": [change.total for change in found],
        "worst_total_pct": 100 * max(abs(change.total - base) for change in moved) / base,
        "mean_total_pct": 100 * float(np.mean([abs(change.total - base) for change in moved])) / base,
        "per_picture_pct": 100 * float(np.mean([change.absolute for change in moved])) / base,
        "pictures_changed": float(np.mean([change.pictures for change in moved])),
        "largest": max(change.largest for change in moved),
        "crossed_pct": 100 * float(np.mean([change.crossed_up + change.crossed_down for change in moved])) / base,
        "new_or_lost_pct": 100 * float(np.mean([change.new + change.lost for change in moved])) / base,
        "changes": [asdict(change) for change in found],
        "counts": [[counted.count for counted in row] for row in rows],
    }  # fmt: skip


COLUMNS = (
    ("method", "method", "s"), ("overlap", "overlap_px", "d"), ("worst total %", "worst_total_pct", ".2f"),
    ("mean total %", "mean_total_pct", ".2f"), ("per picture %", "per_picture_pct", ".2f"),
    ("pictures changed", "pictures_changed", ".1f"), ("largest", "largest", "d"), ("crossed %", "crossed_pct", ".2f"),
    ("new or lost %", "new_or_lost_pct", ".2f"),
)  # fmt: skip


def table(rows: list[dict]) -> str:
    lines = [[title for title, _, _ in COLUMNS] + ["totals"]]
    lines += [
        [format(row[key], form) for _, key, form in COLUMNS] + [" ".join(map(str, row["totals"]))] for row in rows
    ]
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--overlap", type=int, nargs="+", default=[TileSettings().overlap_px])
    parser.add_argument("--threshold", type=float, default=0.5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cache", type=Path, default=Path("merge-cache"))
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def main() -> None:
    options = arguments()
    study = Study(pictures_of(options.data), options.threshold)
    segmenter = open_segmenter(options.model, settings=SegmenterSettings(threads=options.threads))
    detections = TileDetections(segmenter, options.cache)
    rows = []
    for overlap_px in options.overlap:
        tiles = replace(TileSettings(), overlap_px=overlap_px)
        rows.append(summary("edgekit", overlap_px, study.edgekit(detections, tiles, MergeSettings())))
        if options.weights:
            grids = SahiGrids(options.weights, options.cache, options.threshold)
            rows.append(summary("sahi", overlap_px, study.sahi(grids, overlap_px)))
    print(table(rows))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
