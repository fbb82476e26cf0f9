"""Is every fruit on the panorama once? Fruit found on it against fruit found on the strip it was made from.

    python bench/panorama/count.py SET/instances.json SET/images --out DIR [--model M.onnx] [--only NAME]
    python bench/panorama/count.py --table DIR [--json F]

The strip gets the same photometric fault, shows what the camera saw, and is cut into tiles at the same places
(`reference.py`): cut elsewhere, the model alone finds up to a tenth of other fruit, which is what `control` measures,
the strip against itself moved by 13.4 px, no panorama at all. Fruit are matched one to one by mask (IoU >= 0.5),
never as a net count. `lost` are fruit of the strip without a partner on the panorama, `extra` the other way round.
Strict: both at the threshold. Lenient: a partner down to 0.2 below the threshold counts, so that what remains is not
a score that crossed the threshold but a fruit that was lost or counted twice.
"""

import argparse
import json
import os
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import cv2
import numpy as np
from faults import Case, cases
from made_case import ROOM_PX, Result, long_strip
from reference import seen_strip

from edgekit.contracts import Image, Instances, Segmenter
from edgekit.masks import iou
from edgekit.runtime.default_model import default_model_path
from edgekit.runtime.mosaic.resample import read_window
from edgekit.runtime.rowmaker import Motion
from edgekit.segment import SegmenterSettings, open_segmenter
from edgekit.tiles import MergeSettings, TileSettings, cut_tile, merge, plan_tiles, second_look

SIZE_WH = (1280, 720)
SAME_IOU = 0.5
LENIENCE = 0.2
CONTROL_XY = (13.4, 0.0)
NO_REFERENCE = ("near leaves", "far holes")
"""Layers at another depth: no strip shows what the camera saw, since what is hidden changes on the way."""


def fruit_of(image: Image, segmenter: Segmenter) -> Instances:
    """All fruit of a picture above the model's floor, as a run finds them."""
    size_wh = (image.shape[1], image.shape[0])
    tiles, merging = TileSettings(), MergeSettings()
    specs = plan_tiles(size_wh, tiles)
    results = [found.instances for spec in specs for found in segmenter.segment(cut_tile(image, spec)[None])]
    merged = merge(specs, results, size_wh, merging)
    again = second_look(merged, specs, size_wh, tiles)
    if not again:
        return merged.instances
    looks = [(spec, found.instances) for spec in again for found in segmenter.segment(cut_tile(image, spec)[None])]
    return merge(specs, results, size_wh, merging, looks=looks).instances


def unmatched(wanted: Instances, there: Instances) -> list[int]:
    """Rows of `wanted` that have no partner of their own in `there`."""
    pairs = []
    for row, box in enumerate(wanted.boxes_xyxy):
        near = (there.boxes_xyxy[:, :2] < box[2:]).all(axis=1) & (there.boxes_xyxy[:, 2:] > box[:2]).all(axis=1)
        pairs += [(iou(wanted.masks[row], there.masks[other]), row, int(other)) for other in np.flatnonzero(near)]
    rows: set[int] = set()
    others: set[int] = set()
    for value, row, other in sorted(pairs, reverse=True):
        if value >= SAME_IOU and row not in rows and other not in others:
            rows.add(row)
            others.add(other)
    return [row for row in range(len(wanted)) if row not in rows]


def figures(panorama: Instances, strip: Instances, threshold: float) -> dict[str, object]:
    def at(found: Instances, score: float) -> Instances:
        return found.select(found.scores >= score)

    own, wanted = at(panorama, threshold), at(strip, threshold)
    low = threshold - LENIENCE
    lost, extra = unmatched(wanted, own), unmatched(own, wanted)
    lost_lenient, extra_lenient = unmatched(wanted, at(panorama, low)), unmatched(own, at(strip, low))
    both = max(len(wanted) + len(own), 1)
    return {
        "strip": len(wanted), "panorama": len(own), "lost": len(lost), "extra": len(extra),
        "lost_lenient": len(lost_lenient), "extra_lenient": len(extra_lenient),
        "unmatched_percent": round(100 * (len(lost) + len(extra)) / both, 2),
        "unmatched_lenient_percent": round(100 * (len(lost_lenient) + len(extra_lenient)) / both, 2),
        "unmatched_scores": sorted(round(float(s), 3) for s in (*wanted.scores[lost], *own.scores[extra])),
    }  # fmt: skip


def count(case: Case, strip: Image, segmenter: Segmenter, threshold: float) -> dict[str, object]:
    """One case."""
    result = Result(case, strip, SIZE_WH)
    own, wanted = fruit_of(result.image, segmenter), fruit_of(seen_strip(case, result), segmenter)
    return figures(own, wanted, threshold) | {"statuses": result.figures()["statuses"]}


def control(strip: Image, segmenter: Segmenter, threshold: float) -> dict[str, object]:
    """The strip against itself, a few pixels further on."""
    across, down = CONTROL_XY
    size_wh = (strip.shape[1] - 20, SIZE_WH[1])
    still, moved = (read_window(strip, (x, ROOM_PX / 2 + down), size_wh) for x in (0.0, across))
    own = fruit_of(moved, segmenter)
    shift = np.array([across, 0, across, 0], np.float32)
    masks = tuple(mask.shifted(round(across), 0) for mask in own.masks)
    own = Instances(own.boxes_xyxy + shift, own.scores, own.labels, masks)
    return figures(own, fruit_of(still, segmenter), threshold)


def table(folder: Path) -> dict[str, dict[str, object]]:
    """The cases that were run, printed."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    keys = ("strip", "panorama", "lost", "extra", "unmatched_percent", "unmatched_lenient_percent")
    for name, row in found.items():
        print(f"{name:20} " + ", ".join(f"{key} {row[key]}" for key in keys))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labels", type=Path, nargs="?")
    parser.add_argument("images", type=Path, nargs="?")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--frames", type=int, default=1000)
    parser.add_argument("--speed-px", type=float, default=24.3)
    parser.add_argument("--threshold", type=float, default=0.5)
    parser.add_argument("--only", default="")
    parser.add_argument("--table", type=Path, help="print the cases of an earlier --out")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.table:
        found = table(options.table)
        if options.json:
            options.json.write_text(json.dumps(found, indent=1) + "\n")
        return
    cv2.setNumThreads(1)
    length_px = int(options.speed_px * options.frames * 1.15) + 2 * SIZE_WH[0]
    height_px = SIZE_WH[1] + ROOM_PX
    strip = long_strip(options.labels, options.images, height_px=height_px, length_px=length_px)
    segmenter = open_segmenter(options.model or default_model_path(), settings=SegmenterSettings(threads=1))
    options.out.mkdir(parents=True, exist_ok=True)
    chosen = [case for case in cases(options.frames, options.speed_px) if not case.name.startswith(NO_REFERENCE)]
    for case in (Case("control", Motion()), *chosen):
        target = options.out / f"{case.name}.json"
        if options.only not in case.name or target.exists():
            continue
        run = partial(control, strip) if case.name == "control" else partial(count, case, strip)
        result = run(segmenter, options.threshold)
        target.write_text(json.dumps(result) + "\n")
        print(case.name, json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
