"""A tile through the contract's graph, through Ultralytics' own ONNX export, and through Ultralytics' predict.

    python bench/export/yolo_speed.py WEIGHTS.pt IMAGES [--graph MORE.onnx] [--rounds 15] [--threads 2] [--clock cpu]

All run in one process, in turns, on the same tiles; what is compared are the ratios of the medians. Ultralytics' export
is run by Ultralytics' `predict` under ONNX Runtime, because its graph leaves NMS and masks to be done afterwards. It
takes the threads that it finds: for one thread put `taskset -c 0` in front.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", type=Path)
    parser.add_argument("images", type=Path)
    parser.add_argument("--graph", type=Path, action="append", default=[], help="further graphs of the contract")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: on a machine that is not idle")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    clock = time.process_time if options.clock == "cpu" else time.perf_counter
    os.environ["YOLO_AUTOINSTALL"] = "false"  # a benchmark installs nothing
    with tempfile.TemporaryDirectory() as folder:
        runs, tiles = prepare(options, Path(folder))
        samples = measure(runs, tiles, options.rounds, clock)
    base = statistics.median(samples["edgekit fp32"])
    figures = {
        name: {"median_ms": statistics.median(values), "times_edgekit_fp32": statistics.median(values) / base}
        for name, values in samples.items()
    }
    for name, row in figures.items():
        print(f"{name:40} {row['median_ms']:8.1f} ms   {row['times_edgekit_fp32']:.2f} x edgekit fp32")
    if options.json:
        asked = {"threads": options.threads, "clock": options.clock}
        options.json.write_text(json.dumps({**asked, "figures": figures, "samples_ms": samples}, indent=2))


def prepare(options: argparse.Namespace, folder: Path) -> tuple[dict[str, Callable[[np.ndarray], object]], np.ndarray]:
    import torch
    from ultralytics import YOLO

    from edgekit.export.builder import Weights
    from edgekit.export.export import Request, export_all
    from edgekit.export.pictures import read_tiles
    from edgekit.export.recipe import find_recipe, read_recipe
    from edgekit.segment import SegmenterSettings, open_segmenter

    torch.set_num_threads(options.threads)
    recipe = read_recipe(find_recipe("yolo11"))
    tiles = read_tiles(options.images, size_px=recipe.tile_size_px, limit=options.rounds, at_least=2).tiles
    (artifact,) = export_all(Request(recipe, Weights(options.weights), folder), progress=lambda *_: None)
    settings = SegmenterSettings(threads=options.threads)
    runs: dict[str, Callable[[np.ndarray], object]] = {
        "edgekit fp32": open_segmenter(artifact.path, settings=settings).segment
    }
    for graph in options.graph:
        runs[f"edgekit {graph.name}"] = open_segmenter(graph, settings=settings).segment
    copy = folder / options.weights.name
    copy.write_bytes(options.weights.read_bytes())
    exported = YOLO(copy).export(format="onnx", imgsz=recipe.tile_size_px, simplify=False, verbose=False)
    models = {"ultralytics onnx + postprocessing": YOLO(exported, task="segment"), "ultralytics": YOLO(copy)}
    for name, model in models.items():
        runs[f"{name} (predict)"] = predictor(model, recipe.tile_size_px, recipe.score_floor)
    return runs, tiles


def predictor(model: object, size_px: int, floor: float) -> Callable[[np.ndarray], object]:
    def predict(tiles: np.ndarray) -> object:
        bgr = np.ascontiguousarray(tiles[0][..., ::-1])
        return model(bgr, imgsz=size_px, conf=floor, iou=0.7, verbose=False, device="cpu")  # type: ignore[operator]

    return predict


def measure(
    runs: dict[str, Callable[[np.ndarray], object]], tiles: np.ndarray, rounds: int, clock: Callable[[], float]
) -> dict[str, list[float]]:
    """Milliseconds of every run; each round takes all of them, on the same tile."""
    for run in runs.values():
        run(tiles[:1])
        run(tiles[1:2])
    samples: dict[str, list[float]] = {name: [] for name in runs}
    for round_ in range(rounds):
        tile = tiles[round_ % len(tiles)][None]
        for name, run in runs.items():
            start = clock()
            run(tile)
            samples[name].append((clock() - start) * 1e3)
    return samples


if __name__ == "__main__":
    main()
