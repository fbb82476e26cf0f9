"""A tile through the contract's graph, through Ultralytics' own ONNX export, and through Ultralytics' predict.

    python bench/export/yolo_speed.py WEIGHTS.pt IMAGES [--graph MORE.onnx] [--rounds 15] [--threads 2] [--clock cpu]

All run in one process, in turns, on the same tiles; what is compared are the ratios of the medians. Ultralytics' export
is run by Ultralytics' `predict` under ONNX Runtime, because its graph leaves NMS and masks to be done afterwards. All
have the same number of threads, unless `--own-threads` leaves Ultralytics those that it takes by itself: on N cores
N - 1 for PyTorch and N for ONNX Runtime, whatever `taskset` says.
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
from typing import Any

import numpy as np

Run = Callable[[np.ndarray], object]
PAUSE_S = 0.05
"""Before each run: the threads of the one before go on spinning for a while, on the cores that this one needs."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", type=Path)
    parser.add_argument("images", type=Path)
    parser.add_argument("--graph", type=Path, action="append", default=[], help="further graphs of the contract")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--own-threads", action="store_true", help="leave Ultralytics the threads that it takes itself")
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
        asked = {"threads": options.threads, "own_threads": options.own_threads, "clock": options.clock}
        options.json.write_text(json.dumps({**asked, "figures": figures, "samples_ms": samples}, indent=2))


def prepare(options: argparse.Namespace, folder: Path) -> tuple[dict[str, Run], np.ndarray]:
    import torch
    from ultralytics import YOLO

    from edgekit.export.builder import Weights
    from edgekit.export.export import Request, export_all
    from edgekit.export.pictures import read_tiles
    from edgekit.export.recipe import find_recipe, read_recipe
    from edgekit.segment import SegmenterSettings, open_segmenter

    torch.set_num_threads(options.threads)
    if not options.own_threads:
        limit_onnxruntime(options.threads)
    recipe = read_recipe(find_recipe("yolo11"))
    tiles = read_tiles(options.images, size_px=recipe.tile_size_px, limit=options.rounds, at_least=2).tiles
    (artifact,) = export_all(Request(recipe, Weights(options.weights), folder), progress=lambda *_: None)
    settings = SegmenterSettings(threads=options.threads)
    runs: dict[str, Run] = {"edgekit fp32": open_segmenter(artifact.path, settings=settings).segment}
    for graph in options.graph:
        runs[f"edgekit {graph.name}"] = open_segmenter(graph, settings=settings).segment
    copy = folder / options.weights.name
    copy.write_bytes(options.weights.read_bytes())
    exported = YOLO(copy).export(format="onnx", imgsz=recipe.tile_size_px, simplify=False, verbose=False)
    models = {"ultralytics onnx + postprocessing": YOLO(exported, task="segment"), "ultralytics": YOLO(copy)}
    for name, model in models.items():
        predict = predictor(model, recipe.tile_size_px, recipe.score_floor)
        runs[f"{name} (predict)"] = predict if options.own_threads else on_threads(predict, options.threads)
    return runs, tiles


def limit_onnxruntime(threads: int) -> None:
    """Give every session that is opened from now on this number of threads."""
    import onnxruntime

    make = onnxruntime.InferenceSession

    def limited(path: str, options: Any = None, **rest: Any) -> Any:
        options = options or onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        return make(path, options, **rest)

    onnxruntime.InferenceSession = limited


def on_threads(run: Run, threads: int) -> Run:
    """PyTorch's threads are set before every run: Ultralytics changes them when it opens a model."""
    import torch

    def run_on_threads(tiles: np.ndarray) -> object:
        torch.set_num_threads(threads)
        return run(tiles)

    return run_on_threads


def predictor(model: object, size_px: int, floor: float) -> Run:
    def predict(tiles: np.ndarray) -> object:
        bgr = np.ascontiguousarray(tiles[0][..., ::-1])
        return model(bgr, imgsz=size_px, conf=floor, iou=0.7, verbose=False, device="cpu")  # type: ignore[operator]

    return predict


def measure(runs: dict[str, Run], tiles: np.ndarray, rounds: int, clock: Callable[[], float]) -> dict[str, list[float]]:
    """Milliseconds of every run; each round takes all of them, on the same tile."""
    for run in runs.values():
        run(tiles[:1])
        run(tiles[1:2])
    samples: dict[str, list[float]] = {name: [] for name in runs}
    for round_ in range(rounds):
        tile = tiles[round_ % len(tiles)][None]
        for name, run in runs.items():
            time.sleep(PAUSE_S)
            start = clock()
            run(tile)
            samples[name].append((clock() - start) * 1e3)
    return samples


if __name__ == "__main__":
    main()
