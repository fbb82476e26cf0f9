"""Time of one tile: the exported graph against torchvision eager and torchvision's own ONNX export, paired.

    python bench/export/rcnn_speed.py mask_rcnn --images FOLDER [--rounds 10] [--graph INT8.onnx] [--cache D] [--json F]

`--graph` adds exported graphs of the same weights in other precisions, whose rows are compared with float32's by the
limits of parity. edgekit's time includes drawing the masks, as torchvision's does. Every round runs each of them on the
same tile, in changing order; the ratio is taken within the round, so that what slows the machine slows all. Reported
are the median and the quartiles of the ratios. The number of detections is printed, since masks are a good part of the
time.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
import torch
from rcnn_answers import MODELS, GraphAnswers, digest_of
from rcnn_graphs import Case, Tiles, case_of, parser_of, real_tiles
from torchvision.models.detection import MaskRCNN

from edgekit.contracts import ModelInfo, TileResult
from edgekit.export.parity import LIMITS, compare
from edgekit.segment.rows import decode_rows

Run = Callable[[Tiles], object]
OURS = "edgekit"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: on a machine that is not idle")
    parser.add_argument("--without-peer-export", action="store_true")
    parser.add_argument("--graph", type=Path, nargs="+", default=[])
    parser.add_argument("--cache", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    case = case_of(args)
    model = case.model()
    graphs = {OURS: GraphAnswers(case, "cpu", args.cache).graph, **{path.name: onnx.load(path) for path in args.graph}}
    sides = {name: Side(case, graph) for name, graph in graphs.items()}
    contenders: dict[str, Run] = {**sides, "torchvision eager": lambda tile: eager(model, tile)}
    with TemporaryDirectory() as folder:
        if not args.without_peer_export:
            contenders["torchvision ONNX export"] = peer_export(model, case, args.cache or Path(folder))
        tiles = real_tiles(args.images, args.rounds, case.recipe.tile_size_px)
        seconds = measure(contenders, tiles, time.process_time if args.clock == "cpu" else time.perf_counter)
    answers = {name: side.results[-len(tiles) :] for name, side in sides.items()}
    rows = [len(result.instances) for result in answers[OURS]]
    print(f"{args.recipe} inner {case.recipe.inner_size_px}, {args.threads} threads, {args.clock}, rows a tile {rows}")
    report = {"recipe": args.recipe, "threads": args.threads, "clock": args.clock, "rows": rows}
    report |= {name: tell_times(name, values, seconds[OURS]) for name, values in seconds.items()}
    for name, side in list(sides.items())[1:]:
        parity = compare(answers[OURS], answers[name], info=side.info, threshold=0.5)
        faults = parity.beyond(LIMITS[side.info.precision])
        print(f"{name}: {parity.matched} of {parity.reference} matched, median mask IoU {parity.median_iou},", faults)
        report[f"{name} parity"] = {**parity.summary(), "beyond_limits": faults}
    if args.json:
        args.json.write_text(json.dumps(report, indent=1))


def measure(contenders: dict[str, Run], tiles: Tiles, clock: Callable[[], float]) -> dict[str, np.ndarray]:
    """Seconds of each contender, tile by tile, in changing order; the first tile warms up."""
    for run in contenders.values():
        run(tiles[0])
    seconds = {name: np.zeros(len(tiles)) for name in contenders}
    for number, tile in enumerate(tiles):
        for name in np.roll(list(contenders), number):
            start = clock()
            contenders[name](tile)
            seconds[name][number] = clock() - start
    return seconds


def tell_times(name: str, seconds: np.ndarray, ours: np.ndarray) -> dict[str, list[float]]:
    """Print the median, and quartiles of the ratio to edgekit's time on the same tile."""
    low, middle, high = np.percentile(seconds / ours, (25, 50, 75))
    print(f"{name:26} median {np.median(seconds):.3f} s  of {OURS}: {middle:.2f} ({low:.2f} to {high:.2f})", flush=True)
    return {"seconds": seconds.tolist(), "ratio": [low, middle, high]}


class Side:
    """A graph under ONNX Runtime, to results with drawn masks."""

    def __init__(self, case: Case, graph: onnx.ModelProto) -> None:
        self.info = ModelInfo.from_metadata({entry.key: entry.value for entry in graph.metadata_props})
        self.results: list[TileResult] = []
        self._session = case.session(graph)
        self._names = [item.name for item in self._session.get_outputs()]

    def __call__(self, tile: Tiles) -> None:
        outputs = dict(zip(self._names, self._session.run(None, {"tiles": tile[None]}), strict=True))
        self.results.append(decode_rows(outputs, 0, self.info))


def eager(model: MaskRCNN, tile: Tiles) -> object:
    with torch.no_grad():
        return model([torch.from_numpy(tile).permute(2, 0, 1) / 255.0])


def peer_export(model: MaskRCNN, case: Case, folder: Path) -> Run:
    """torchvision's documented export: the whole model, one picture in, masks pasted inside."""
    recipe = case.recipe
    path = folder / f"torchvision-{recipe.model}-{recipe.inner_size_px}-{case.seed}-{digest_of(MODELS)[:8]}.onnx"
    size = case.recipe.tile_size_px
    picture = torch.rand(3, size, size)
    if not path.exists():
        torch.onnx.export(model, ([picture],), path, dynamo=False, opset_version=17, input_names=["image"])
    session = case.session(path)

    def run(tile: Tiles) -> object:
        image = np.ascontiguousarray(tile.transpose(2, 0, 1), np.float32) / 255.0
        return session.run(None, {"image": image})

    return run


if __name__ == "__main__":
    main()
