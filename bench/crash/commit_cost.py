"""What it costs to store the results of tiles, by how often they are committed.

    python bench/crash/commit_cost.py --folder DISK [--tiles 400] [--json]

DISK is a folder on the disk that is asked about: a memory card and an SSD differ by a factor of ten.
"""

import argparse
import json
import shutil
import sqlite3
import time
from pathlib import Path

import numpy as np

from edgekit.contracts import Instances, MaskCrop, TileResult, TileSpec
from edgekit.store import RunPlan, RunRecorder, SourcePlan

OBJECTS_A_TILE = 13
"""As the default model finds on a picture of tomato plants, everything above the score floor."""


def tile(number: int) -> tuple[TileSpec, TileResult]:
    masks = tuple(MaskCrop(np.ones((60, 50), np.bool_), 10 * i, 20 * i) for i in range(OBJECTS_A_TILE))
    boxes = np.array([[m.x_px, m.y_px, m.x_px + 50, m.y_px + 60] for m in masks], np.float32)
    scores, labels = np.linspace(0.9, 0.1, len(masks), dtype=np.float32), np.zeros(len(masks), np.int32)
    return TileSpec(number, 416 * number, 0, 512), TileResult(Instances(boxes, scores, labels, masks), len(masks))


def ms_a_tile(path: Path, tiles: int, *, tiles_a_commit: int, synchronous: str) -> float:
    recorder = RunRecorder(path)
    recorder.begin(RunPlan({"class_names": ["fruit"]}, "m", {}, 0.5, "option", (SourcePlan("row", "frames", "f"),)))
    recorder._connection.execute(f"PRAGMA synchronous = {synchronous}")
    prepared = [tile(number) for number in range(tiles)]
    began = time.perf_counter()
    for number, one in enumerate(prepared, 1):
        recorder.add_tiles(1, [one])
        if number % tiles_a_commit == 0:
            recorder.commit()
    recorder.commit()
    spent_ms = (time.perf_counter() - began) * 1e3
    recorder.close()
    return spent_ms / tiles


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--tiles", type=int, default=400)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    for synchronous in ("FULL", "NORMAL"):
        for tiles_a_commit in (1, 4, 12, 100):
            folder = options.folder / "commit_cost"
            folder.mkdir(parents=True)
            settings = {"tiles_a_commit": tiles_a_commit, "synchronous": synchronous}
            rows.append({**settings, "ms_a_tile": ms_a_tile(folder / "run.sqlite", options.tiles, **settings)})
            shutil.rmtree(folder)
    if options.json:
        print(json.dumps({"sqlite": sqlite3.sqlite_version, "rows": rows}, indent=2))
        return
    print("synchronous  tiles a commit  ms a tile")
    for row in rows:
        print(f"{row['synchronous']:<11}  {row['tiles_a_commit']:>14}  {row['ms_a_tile']:>9.2f}")


if __name__ == "__main__":
    main()
