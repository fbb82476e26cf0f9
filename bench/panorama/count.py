"""Is every fruit on the panorama once? Fruit found on it against fruit found on the strip it was made from.

    python bench/panorama/photo_rows.py SET/instances.json SET/images --out ROWS --keep [--start N]
    python bench/panorama/count.py ROWS --out DIR [--model M.onnx] [--threshold T] [--only NAME]
    python bench/panorama/count.py --table DIR [DIR ...] [--json F]

The strip gets the same photometric fault, shows what the camera saw, and lies like the panorama (`reference.py`), so
that both are cut into the same tiles. Fruit are matched one to one by mask (IoU >= 0.5), never as a net count. `lost`
are fruit of the strip without a partner on the panorama, `extra` the other way round. Strict: both at the threshold.
Lenient: a partner down to 0.2 below the threshold counts, so that what remains is not a score that crossed the
threshold but a fruit that was lost, deformed or counted twice. With several folders the table pools their rows.

What the model alone does is measured without any panorama, on the clean row's strip against itself: `control 0.5 px`
resampled half a pixel on, in the same tiles; `control 16 px` cut into tiles that lie 16 px further on; `control noise`
with noise of 8 grey levels twice, as in the case `noise strong`, where strip and panorama have noise of their own.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import case_files
import cv2
import numpy as np
import pooled

from edgekit.cli.threshold import ThresholdRequest, resolve_threshold
from edgekit.contracts import Image, Instances, Segmenter
from edgekit.masks import iou
from edgekit.runtime.default_model import default_model_path
from edgekit.runtime.mosaic.resample import read_window
from edgekit.segment import SegmenterSettings, open_segmenter
from edgekit.tiles import MergeSettings, TileSettings, cut_tile, merge, plan_tiles, second_look

SAME_IOU = 0.5
LENIENCE = 0.2
NEAR = 0.05
"""Of the unmatched, those that lie so close above the threshold are told apart."""
CONTROLS_PX = {"control 0.5 px": 0.5, "control 16 px": 16.0, "control noise": 0.0}
NOISE_GREY = 8.0


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


def figures(panorama: Instances, strip: Instances, threshold: float) -> case_files.Row:
    def at(found: Instances, score: float) -> Instances:
        return found.select(found.scores >= score)

    own, wanted = at(panorama, threshold), at(strip, threshold)
    low = threshold - LENIENCE
    lost, extra = unmatched(wanted, own), unmatched(own, wanted)
    lost_lenient, extra_lenient = unmatched(wanted, at(panorama, low)), unmatched(own, at(strip, low))
    scores = np.sort(np.concatenate((wanted.scores[lost], own.scores[extra])))
    return {
        "threshold": threshold, "strip": len(wanted), "panorama": len(own), "lost": len(lost), "extra": len(extra),
        "lost_lenient": len(lost_lenient), "extra_lenient": len(extra_lenient),
        "near_threshold": int((scores < threshold + NEAR).sum()),
        "unmatched_scores": [round(float(score), 3) for score in scores],
    }  # fmt: skip


def control(strip: Image, moved_px: float, segmenter: Segmenter, threshold: float) -> case_files.Row:
    """The strip against itself, a little further on, or with other noise."""
    size_wh = (strip.shape[1] - 20, strip.shape[0])
    still, moved = (read_window(strip, (x_px, 0.0), size_wh) for x_px in (0.0, moved_px))
    if not moved_px:
        still, moved = noisy(still, 1), noisy(moved, 2)
    own = fruit_of(moved, segmenter)
    shift = np.array([moved_px, 0, moved_px, 0], np.float32)
    masks = tuple(mask.shifted(round(moved_px), 0) for mask in own.masks)
    own = Instances(own.boxes_xyxy + shift, own.scores, own.labels, masks)
    return figures(own, fruit_of(still, segmenter), threshold)


def noisy(image: Image, seed: int) -> Image:
    noise = NOISE_GREY * np.random.default_rng(seed).standard_normal(image.shape, np.float32)
    return np.asarray(np.clip(np.rint(image + noise), 0, 255), np.uint8)


def read_png(path: Path) -> Image:
    image = cv2.imread(str(path))
    if image is None:
        raise SystemExit(f"no picture {path}: run photo_rows.py with --keep first")
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, nargs="?", help="--out of photo_rows.py --keep")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--threshold", type=float, help="by default the model's own")
    case_files.add_options(parser)
    options = parser.parse_args()
    if options.table:
        cases = pooled.pooled(case_files.tabled(options))
        pooled.print_table(cases)
        case_files.write_json(options, cases)
        return
    cv2.setNumThreads(1)
    segmenter = open_segmenter(options.model or default_model_path(), settings=SegmenterSettings(threads=1))
    threshold = resolve_threshold(ThresholdRequest(options.threshold, None), segmenter.info).value
    kept = sorted(path.name.removesuffix(".strip.png") for path in options.rows.glob("*.strip.png"))
    options.out.mkdir(parents=True, exist_ok=True)
    for name in case_files.missing([*CONTROLS_PX, *kept], options):
        strip = read_png(options.rows / f"{'clean' if name in CONTROLS_PX else name}.strip.png")
        if name in CONTROLS_PX:
            row = control(strip, CONTROLS_PX[name], segmenter, threshold)
        else:
            panorama = fruit_of(read_png(options.rows / f"{name}.panorama.png"), segmenter)
            row = figures(panorama, fruit_of(strip, segmenter), threshold)
        case_files.write_row(options.out, name, row)


if __name__ == "__main__":
    main()
