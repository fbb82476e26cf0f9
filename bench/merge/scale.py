"""Time and memory of merging on long panoramas, which must grow linearly with the length.

    python bench/merge/scale.py [--discs 10000] [--length 120000] [--repeats 3] [--json]

The scene is a panorama of 512 px height with discs of 6 to 28 px radius, as a perfect segmenter sees them in 512 px
tiles with the default overlap; then one of twice the length with twice the discs. Times are the best of the repeats,
the two lengths taken in turn; the memory is what merging adds to the detections that go in.
"""

import argparse
import json
import time
import tracemalloc

import numpy as np

from edgekit.contracts import Instances, MaskCrop, TileSpec
from edgekit.masks import bounds_xyxy, clip, trim
from edgekit.tiles import MergeSettings, TileSettings, merge, plan_tiles

HEIGHT_PX = 512


def disc(x: float, y: float, radius: float) -> MaskCrop:
    x0, y0 = int(x - radius), int(y - radius)
    side = int(2 * radius) + 3
    rows, columns = np.ogrid[:side, :side]
    return MaskCrop((columns + x0 + 0.5 - x) ** 2 + (rows + y0 + 0.5 - y) ** 2 <= radius**2, x0, y0)


def scene(discs: int, length_px: int) -> list[MaskCrop]:
    rng = np.random.default_rng(7)
    places = rng.uniform((0, 0, 6), (length_px, HEIGHT_PX, 28), (discs, 3))
    return [disc(x, y, radius) for x, y, radius in places]


def seen(masks: list[MaskCrop], length_px: int) -> tuple[tuple[TileSpec, ...], list[Instances]]:
    """What a perfect segmenter answers, tile by tile."""
    specs = plan_tiles((length_px, HEIGHT_PX), TileSettings())
    masks = sorted(masks, key=lambda mask: mask.x_px)
    starts = np.array([mask.x_px for mask in masks])
    results = []
    for spec in specs:
        first, last = np.searchsorted(starts, (spec.x_px - 60, spec.x_px + spec.size_px))
        box = (spec.x_px, spec.y_px, spec.x_px + spec.size_px, spec.y_px + spec.size_px)
        parts = {at: trim(clip(masks[at], *box)) for at in range(first, last)}
        chosen = [at for at, part in parts.items() if part.plane.size]
        scores = (0.3 + 0.6 * np.modf(np.array(chosen) * 0.618)[0]).astype(np.float32)
        parts = [parts[at].shifted(-spec.x_px, -spec.y_px) for at in chosen]
        boxes = np.array([bounds_xyxy(part) for part in parts], np.float32).reshape(-1, 4)
        results.append(Instances(boxes, scores, np.zeros(len(parts), np.int32), tuple(parts)))
    return specs, results


def measure(inputs: list[tuple[tuple[TileSpec, ...], list[Instances], int]], repeats: int) -> list[dict[str, float]]:
    seconds = [[] for _ in inputs]
    rows = []
    for _ in range(repeats):
        for times, (specs, results, length_px) in zip(seconds, inputs, strict=True):
            start, start_cpu = time.perf_counter(), time.process_time()
            merge(specs, results, (length_px, HEIGHT_PX), MergeSettings())
            times.append((time.perf_counter() - start, time.process_time() - start_cpu))
    for times, (specs, results, length_px) in zip(seconds, inputs, strict=True):
        tracemalloc.start()
        merged = merge(specs, results, (length_px, HEIGHT_PX), MergeSettings())
        peak_mb = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        detections = sum(len(result) for result in results)
        rows.append({
            "length_px": length_px, "tiles": len(specs), "detections": detections, "fruit": len(merged),
            "seconds": min(wall for wall, _ in times), "cpu_seconds": min(cpu for _, cpu in times),
            "cpu_ms_per_tile": 1e3 * min(cpu for _, cpu in times) / len(specs), "peak_mb": peak_mb,
        })  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--discs", type=int, default=10_000)
    parser.add_argument("--length", type=int, default=120_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    inputs = []
    for times in (1, 2):
        length_px = times * options.length
        inputs.append((*seen(scene(times * options.discs, length_px), length_px), length_px))
    rows = measure(inputs, options.repeats)
    ratio = rows[1]["cpu_seconds"] / rows[0]["cpu_seconds"]
    if options.json:
        print(json.dumps({"rows": rows, "time_ratio": ratio}, indent=2))
        return
    for row in rows:
        print("  ".join(f"{name} {value:.4g}" for name, value in row.items()))
    print(f"twice the length takes {ratio:.2f} times as much CPU time")


if __name__ == "__main__":
    main()
