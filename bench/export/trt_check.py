"""Does NVIDIA's TensorRT take the exported graphs? Asked of its own parser and optimiser, without a GPU or a driver.

    pip install tensorrt-rtx
    python bench/export/trt_check.py models/best-tensorrt.onnx ...
    python bench/export/trt_check.py --models [--only mask_rcnn ...] [--precisions fp32 fp16] [--level 3] [--json F]
    python bench/export/trt_check.py --models --images FOLDER      # YOLO11n in int8 as well, calibrated on the folder

TensorRT for RTX is the TensorRT of desktop GPUs: the same ONNX parser and network definition, always strongly typed,
and it compiles on the CPU. What passes has operators, types and shapes that TensorRT takes, needs no plugin, and
compiles as a whole. Kernels of a Jetson's TensorRT are not timed and nothing is computed. `--models` exports the four
models at their full size for the target tensorrt, with untrained weights. Each graph is built in a process of its own,
for one generation of GPUs; at optimisation level 0 a full R-CNN takes seconds, at the usual 3 many minutes. The exit
code is 1 where a graph does not pass.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

MODELS = ("mask_rcnn", "ms_rcnn", "mask_rcnn_sw", "yolo11")
COMPUTE_CAPABILITY = "SM86"
LONGEST_S = 3600


def main() -> int:
    options = arguments()
    if options.build:
        print(json.dumps(build(options.graphs[0], options.level)))
        return 0
    report: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        made = graphs(options, Path(folder)) if options.models else ((path.name, path) for path in options.graphs)
        for name, path in made:
            report[name] = apart(path, options.level)
            print(f"{name:24} {told(report[name])}", flush=True)
            if options.json:
                options.json.write_text(json.dumps(report, indent=1))
    return 0 if all(entry["built"] for entry in report.values()) else 1


def graphs(options: argparse.Namespace, folder: Path) -> Iterator[tuple[str, Path]]:
    """Every model and precision in turn, exported into the folder and removed after use."""
    from edgekit.export.builder import Weights
    from edgekit.export.fp16 import to_fp16
    from edgekit.export.onnx_writer import trace, write
    from edgekit.export.recipe import find_recipe, read_recipe
    from edgekit.export.registry import find_builder

    for model in options.only:
        recipe = read_recipe(find_recipe(model))
        if not recipe.classes:
            recipe = replace(recipe, classes=("fruit",))
        built = find_builder(model)(recipe, Weights(untrained_seed=0), target="tensorrt")
        graph = trace(built)
        for precision in options.precisions:
            path = folder / f"{model}-{precision}.onnx"
            write(graph if precision == "fp32" else to_fp16(graph, scopes=built.reduced).model, path)
            yield f"{model} {precision}", path
            path.unlink()
        if model == "yolo11" and options.images:
            path = folder / "int8.onnx"
            write(in_int8(graph, built, options.images, recipe.tile_size_px), path)
            yield "yolo11 int8", path


def in_int8(graph: Any, built: Any, images: Path, size_px: int) -> Any:
    from edgekit.export.int8 import FEWEST_TILES, to_int8
    from edgekit.export.pictures import read_tiles
    from edgekit.export.precision import Scopes

    tiles = read_tiles(images, size_px=size_px, limit=16, at_least=FEWEST_TILES).tiles
    return to_int8(graph, tiles, scopes=Scopes(built.reduced, built.sensitive), target="tensorrt").model


def apart(path: Path, level: int) -> dict[str, Any]:
    """`build` in a process of its own: the compiler is native code, and takes gigabytes."""
    command = [sys.executable, __file__, "--build", str(path), "--level", str(level)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S)
    try:
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, json.JSONDecodeError):
        last = (done.stderr.strip().splitlines() or [f"the process ended with status {done.returncode}"])[-1]
        answer = {"parsed": False, "built": False, "errors": [last]}
    return answer


def build(path: Path, level: int) -> dict[str, Any]:
    """Parse and compile one graph."""
    import tensorrt_rtx as trt

    log = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(log)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, log)
    parsed = parser.parse_from_file(str(path))
    answer: dict[str, Any] = {
        "tensorrt_rtx": trt.__version__,
        "level": level,
        "parsed": parsed,
        "errors": [parser.get_error(number).desc() for number in range(parser.num_errors)],
        "layers": network.num_layers,
        "built": False,
    }
    if parsed:
        config = builder.create_builder_config()
        config.builder_optimization_level = level
        config.num_compute_capabilities = 1
        config.set_compute_capability(getattr(trt.ComputeCapability, COMPUTE_CAPABILITY), 0)
        start, cpu = time.monotonic(), time.process_time()
        engine = builder.build_serialized_network(network, config)
        answer |= {"built": engine is not None, "engine_bytes": engine.nbytes if engine is not None else 0}
        answer |= {"seconds": time.monotonic() - start, "cpu_seconds": time.process_time() - cpu}
    return answer


def told(answer: dict[str, Any]) -> str:
    if not answer["built"]:
        return f"refused: {'; '.join(answer['errors']) or 'the optimiser gave no engine'}"
    size = answer["engine_bytes"] / 1e6
    return f"{answer['layers']:6} layers  engine {size:7.1f} MB  {answer['seconds']:6.1f} s"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", type=Path, nargs="*")
    parser.add_argument("--models", action="store_true", help="export the four models and check them")
    parser.add_argument("--only", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--precisions", nargs="+", choices=("fp32", "fp16"), default=("fp32", "fp16"))
    parser.add_argument("--level", type=int, default=0, help="builder_optimization_level")
    parser.add_argument("--images", type=Path, help="folder of pictures to calibrate int8 on")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--build", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
