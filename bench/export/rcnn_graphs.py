"""What the R-CNN benchmarks share: arguments, a lively untrained model, its graph under ONNX Runtime, real tiles."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from PIL import Image
from torchvision.models.detection import MaskRCNN

from edgekit.export.builder import Weights
from edgekit.export.fp16 import to_fp16
from edgekit.export.onnx_writer import annotate, trace, write
from edgekit.export.rcnn import build, eager_model
from edgekit.export.recipe import Recipe, Target, find_recipe, read_recipe

Tiles = npt.NDArray[np.uint8]
SUFFIXES = (".jpg", ".jpeg", ".png")


@dataclass(frozen=True)
class Case:
    """One model to measure."""

    recipe: Recipe
    seed: int
    threads: int

    def model(self) -> MaskRCNN:
        """torchvision's own."""
        return eager_model(self.recipe, Weights(untrained_seed=self.seed))

    def graph(self, target: Target) -> onnx.ModelProto:
        """The static graph in float32, with its metadata."""
        built = build(self.recipe, Weights(untrained_seed=self.seed), target=target)
        graph = trace(built)
        annotate(graph, built.info)
        if self.recipe.precision == "fp16":
            graph = to_fp16(graph, scopes=built.reduced).model
        return graph

    def session(self, graph: onnx.ModelProto | Path) -> onnxruntime.InferenceSession:
        """ONNX Runtime on the CPU."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.log_severity_level = 3
        if isinstance(graph, Path):
            return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        with TemporaryDirectory() as folder:
            path = Path(folder) / "graph.onnx"
            write(graph, path)
            return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def parser_of(doc: str) -> argparse.ArgumentParser:
    """The arguments that all R-CNN benchmarks take; `case_of` makes a case of them."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", choices=("mask_rcnn", "ms_rcnn", "mask_rcnn_sw"))
    parser.add_argument("--images", type=Path, nargs="+", required=True, help="folders of real pictures")
    parser.add_argument("--inner", type=int, help="inner size instead of the recipe's")
    parser.add_argument("--proposals", type=int)
    parser.add_argument("--max-detections", type=int)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--precision", choices=("fp32", "fp16"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path)
    return parser


def case_of(args: argparse.Namespace) -> Case:
    """The recipe that ships, with what the arguments change."""
    recipe = recipe_of(
        args.recipe,
        inner_size_px=args.inner,
        proposals=args.proposals,
        max_detections=args.max_detections,
        batch=args.batch,
        precision=args.precision,
    )
    return Case(recipe, args.seed, args.threads)


def recipe_of(name: str, **changes: Any) -> Recipe:
    """The recipe that ships, with some values changed where they are not None."""
    recipe = read_recipe(find_recipe(name))
    return replace(recipe, **{key: value for key, value in changes.items() if value is not None})


def real_tiles(folders: Sequence[Path], number: int, size_px: int) -> Tiles:
    """The middles of pictures, evenly chosen from those that are large enough: uint8, N x S x S x 3, RGB."""
    files = sorted(path for folder in folders for path in folder.iterdir() if path.suffix.lower() in SUFFIXES)
    large = [path for path in files if min(Image.open(path).size) >= size_px]
    tiles = []
    for index in np.linspace(0, len(large) - 1, min(number, len(large))).round().astype(int):
        picture = cv2.cvtColor(cv2.imread(str(large[index])), cv2.COLOR_BGR2RGB)
        top, left = ((side - size_px) // 2 for side in picture.shape[:2])
        tiles.append(picture[top : top + size_px, left : left + size_px])
    return np.stack(tiles)


def special_tiles(size_px: int) -> Tiles:
    """Black, white and noise."""
    noise = np.random.default_rng(0).integers(0, 256, (size_px, size_px, 3), dtype=np.uint8)
    return np.stack([np.zeros_like(noise), np.full_like(noise, 255), noise])
