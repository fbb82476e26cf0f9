"""Is every fruit on the panorama once? Fruit found on it against fruit found on the strip it was made from.

    python bench/panorama/count.py SET/instances.json SET/images [--model M.onnx] [--frames 2000] [--only NAME]

The strip gets the same photometric fault (gain by column, noise). Fruit are matched one to one by mask (IoU >= 0.5),
never as a net count. `lost` are fruit of the strip without a partner on the panorama, `extra` the other way round.
Strict: both at the threshold. Lenient: a partner down to 0.2 below the threshold counts, so that what remains is not a
score that crossed the threshold but a fruit that was lost or counted twice.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from faults import Case, cases
from photo_rows import SIZE_WH, Result

from edgekit.contracts import Image, Instances, Segmenter
from edgekit.labels import read_coco
from edgekit.masks import iou
from edgekit.runtime.default_model import default_model_path
from edgekit.runtime.rowmaker import load_photo_row
from edgekit.segment import SegmenterSettings, open_segmenter
from edgekit.tiles import MergeSettings, TileSettings, cut_tile, merge, plan_tiles, second_look

SAME_IOU = 0.5
LENIENCE = 0.2


def fruit_of(image: Image, segmenter: Segmenter) -> Instances:
    """All fruit of a picture above the model's floor, as a run finds them."""
    size_wh = (image.shape[1], image.shape[0])
    tiles, merging = TileSettings(), MergeSettings()
    specs = plan_tiles(size_wh, tiles)
    results = [found.instances for found in segmenter.segment(np.stack([cut_tile(image, spec) for spec in specs]))]
    merged = merge(specs, results, size_wh, merging)
    again = second_look(merged, specs, size_wh, tiles)
    if not again:
        return merged.instances
    looks = segmenter.segment(np.stack([cut_tile(image, spec) for spec in again]))
    pairs = [(spec, found.instances) for spec, found in zip(again, looks, strict=True)]
    return merge(specs, results, size_wh, merging, looks=pairs).instances


def unmatched(wanted: Instances, there: Instances) -> int:
    """How many of `wanted` have no partner of their own in `there`."""
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
    return len(wanted) - len(rows)


def reference(result: Result, case: Case) -> Image:
    """The strip that the camera passed, with the same gain by column and the same noise."""
    path = result.camera.path
    start = round(float(path.x_px.min()))
    top = round(result.camera.top_px)
    height, width = result.image.shape[:2]
    strip = result.strip[top : top + height, start : start + width].astype(np.float32)
    centres = path.x_px - path.x_px.min() + SIZE_WH[0] / 2
    first = np.array([np.argmax(centres >= column) for column in range(0, strip.shape[1], 16)])
    gain = np.ones(len(path.x_px), np.float32)
    for frame, value in case.look.exposure:
        gain[frame:] = value
    strip *= np.repeat(gain[first], 16)[None, : strip.shape[1], None]
    if case.look.noise:
        strip += case.look.noise * np.random.default_rng(5).standard_normal(strip.shape, dtype=np.float32)
    return np.clip(np.rint(strip), 0, 255).astype(np.uint8)


def figures(panorama: Instances, strip: Instances, threshold: float) -> dict[str, object]:
    def at(found: Instances, score: float) -> Instances:
        return found.select(found.scores >= score)

    own, wanted = at(panorama, threshold), at(strip, threshold)
    low = threshold - LENIENCE
    lost, extra = unmatched(wanted, own), unmatched(own, wanted)
    lost_lenient, extra_lenient = unmatched(wanted, at(panorama, low)), unmatched(own, at(strip, low))
    return {
        "strip": len(wanted), "panorama": len(own), "lost": lost, "extra": extra,
        "lost_lenient": lost_lenient, "extra_lenient": extra_lenient,
        "unmatched_percent": round(100 * (lost + extra) / max(len(wanted) + len(own), 1), 2),
        "unmatched_lenient_percent": round(100 * (lost_lenient + extra_lenient) / max(len(wanted) + len(own), 1), 2),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labels", type=Path)
    parser.add_argument("images", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--frames", type=int, default=2000)
    parser.add_argument("--pictures", type=int, default=30)
    parser.add_argument("--threshold", type=float, default=0.5)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    labels = read_coco(options.labels)
    names = [picture.name for picture in labels.pictures[: options.pictures]]
    row = load_photo_row(labels, options.images, names=names, height_px=800)
    speed_px = min(6.3, (row.image.shape[1] - SIZE_WH[0] - 20) / options.frames / 1.1)
    segmenter = open_segmenter(options.model or default_model_path(), settings=SegmenterSettings(threads=1))
    results = {}
    for case in cases(options.frames, speed_px):
        if options.only not in case.name:
            continue
        result = Result(case, row)
        panorama, strip = fruit_of(result.image, segmenter), fruit_of(reference(result, case), segmenter)
        results[case.name] = figures(panorama, strip, options.threshold)
        print(case.name, json.dumps(results[case.name]), flush=True)
        if options.json:
            options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
