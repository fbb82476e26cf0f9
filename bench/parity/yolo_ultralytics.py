"""An exported YOLO graph against Ultralytics' own predict on the same tiles, figure by figure.

    python bench/parity/yolo_ultralytics.py WEIGHTS.pt IMAGES_DIR [--tiles 50] [--json FILE]

Two masks of one object differ for two reasons: where the mask is cut at its box, and whether logits or probabilities
are enlarged from the prototypes to the tile. The last figure takes the first reason away, by comparing what lies a
pixel inside the boxes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np

from edgekit.contracts import MaskCrop, TileResult
from edgekit.export.builder import Weights
from edgekit.export.export import Request, export_all
from edgekit.export.parity import LIMITS, compare, match
from edgekit.export.pictures import read_tiles
from edgekit.export.recipe import find_recipe, read_recipe
from edgekit.export.yolo import build
from edgekit.masks import clip, iou
from edgekit.segment import SegmenterSettings, open_segmenter


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", type=Path)
    parser.add_argument("images", type=Path)
    parser.add_argument("--tiles", type=int, default=50)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    recipe = read_recipe(find_recipe("yolo11"))
    weights = Weights(options.weights)
    tiles = read_tiles(options.images, size_px=recipe.tile_size_px, limit=options.tiles, at_least=1).tiles
    reference = build(recipe, weights, target="cpu").eager(tiles)
    with tempfile.TemporaryDirectory() as folder:
        (artifact,) = export_all(Request(recipe, weights, Path(folder)), progress=lambda *_: None)
        segmenter = open_segmenter(artifact.path, settings=SegmenterSettings(threads=1))
        candidate = segmenter.segment(tiles)
    report = compare(reference, candidate, info=segmenter.info, threshold=0.5)
    figures = {**report.summary(), "median_iou_off_the_box_border": inner_iou(reference, candidate)}
    figures["beyond_limits"] = report.beyond(LIMITS["peer"])
    print(json.dumps(figures, indent=2))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))
    return 1 if figures["beyond_limits"] else 0


def inner_iou(reference: list[TileResult], candidate: list[TileResult]) -> float:
    """Median mask IoU of matched detections inside their boxes, one pixel away from the border."""
    values = []
    for a, b in zip(reference, candidate, strict=True):
        for i, j, _ in match(a.instances, b.instances):
            x0, y0, x1, y1 = (int(value) for value in np.round(a.instances.boxes_xyxy[i]))
            inner = (x0 + 1, y0 + 1, x1 - 1, y1 - 1)
            masks: list[MaskCrop] = [clip(a.instances.masks[i], *inner), clip(b.instances.masks[j], *inner)]
            values.append(iou(masks[0], masks[1]))
    return float(np.median(values))


if __name__ == "__main__":
    raise SystemExit(main())
