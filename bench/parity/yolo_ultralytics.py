"""An exported YOLO graph against Ultralytics' own predict on the same tiles, figure by figure.

    python bench/parity/yolo_ultralytics.py WEIGHTS.pt IMAGES_DIR [--tiles 50] [--batch 4] [--json F]

`graph`: Ultralytics' network, decoding and NMS, with masks in the contract's own frame, against the graph; these are
judged by the limits of fp32, mask values by 1/255. `drawn`: the masks as Ultralytics draws them. Those differ by two
rules, not by the graph: Ultralytics enlarges logits where the contract has probabilities, and keeps the pixels whose
index lies between the box's sides where edgekit keeps those whose centre does. `off_the_border` takes the second
away, by comparing what lies a pixel inside the boxes. `thinnest_px` is the shorter side of the worst object's box.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime

from edgekit.contracts import Instances, MaskCrop, TileResult
from edgekit.export.builder import Weights
from edgekit.export.checkpoint import ULTRALYTICS_CLASSES, load_checkpoint
from edgekit.export.export import Request, export_all
from edgekit.export.parity import LIMITS, compare, match
from edgekit.export.pictures import read_tiles
from edgekit.export.recipe import find_recipe, read_recipe
from edgekit.export.yolo_reference import UltralyticsRows, YoloRows
from edgekit.masks import clip, iou
from edgekit.segment.rows import Outputs, decode_rows


def main() -> int:
    options = arguments()
    recipe = replace(read_recipe(find_recipe("yolo11")), batch=options.batch, targets=(options.target,))
    size = recipe.tile_size_px
    tiles = read_tiles(options.images, size_px=size, limit=options.tiles, at_least=1).tiles
    noise = np.random.default_rng(0).integers(0, 256, (size, size, 3), dtype=np.uint8)
    tiles = np.concatenate([tiles, np.stack([np.zeros_like(noise), np.full_like(noise, 255), noise])])
    held = load_checkpoint(options.weights, allowed=ULTRALYTICS_CLASSES)
    peer = UltralyticsRows((held.get("ema") or held["model"]).float().eval(), recipe)
    answers = [peer.rows(tile) for tile in tiles]
    rows = [answer[0] for answer in answers]
    with tempfile.TemporaryDirectory() as folder:
        (artifact,) = export_all(Request(recipe, Weights(options.weights), Path(folder)), progress=lambda *_: None)
        outputs = run(artifact.path, tiles, recipe.batch)
    candidate = [decode_rows(outputs, index, artifact.info) for index in range(len(tiles))]
    reference = [row.result(size) for row in rows]
    report = compare(reference, candidate, info=artifact.info, threshold=0.5)
    figures = {"graph": report.summary(), "mask_255": mask_difference(rows, reference, candidate, outputs)}
    figures["flags"] = sorted({int(result.flags) for result in candidate})
    figures["drawn"] = drawn_figures([drawn_result(answer[1]) for answer in answers], candidate)
    faults = report.beyond(LIMITS["fp32"])
    figures["beyond_limits"] = faults + (["mask values"] if figures["mask_255"] > 1.0 else [])
    print(json.dumps(figures, indent=1))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    return 1 if figures["beyond_limits"] else 0


def run(path: Path, tiles: np.ndarray, batch: int) -> Outputs:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    filled = np.concatenate([tiles, np.zeros((-len(tiles) % batch, *tiles.shape[1:]), np.uint8)])
    names = [item.name for item in session.get_outputs()]
    calls = [session.run(None, {"tiles": filled[start : start + batch]}) for start in range(0, len(filled), batch)]
    return {name: np.concatenate([call[index] for call in calls]) for index, name in enumerate(names)}


def mask_difference(
    rows: list[YoloRows], reference: list[TileResult], candidate: list[TileResult], outputs: Outputs
) -> float:
    """Largest difference of a mask value in its own frame, in 255ths; rounding to uint8 alone gives 0.5."""
    values = [
        np.abs(row.masks[i] * 255.0 - outputs["masks"][tile, j]).max()
        for tile, (row, a, b) in enumerate(zip(rows, reference, candidate, strict=True))
        for i, j, _ in match(a.instances, b.instances)
    ]
    return float(max(values, default=0.0))


def drawn_result(results: object) -> TileResult:
    """Ultralytics' `Results` as edgekit's."""
    boxes, masks = results.boxes, results.masks  # type: ignore[attr-defined]
    planes = [] if masks is None else masks.data.numpy().astype(np.bool_)
    crops = tuple(MaskCrop(plane, 0, 0) for plane in planes)
    labels = boxes.cls.numpy().astype(np.int32)
    return TileResult(Instances(boxes.xyxy.numpy(), boxes.conf.numpy(), labels, crops), len(crops))


def drawn_figures(reference: list[TileResult], candidate: list[TileResult]) -> dict[str, float]:
    """How the masks that both draw agree, and inside their boxes one pixel away from the border."""
    whole, inner, thin = [], [], []
    for a, b in zip(reference, candidate, strict=True):
        for i, j, value in match(a.instances, b.instances):
            x0, y0, x1, y1 = (int(side) for side in np.round(a.instances.boxes_xyxy[i]))
            masks = [clip(m, x0 + 1, y0 + 1, x1 - 1, y1 - 1) for m in (a.instances.masks[i], b.instances.masks[j])]
            whole.append(value)
            inner.append(iou(masks[0], masks[1]))
            thin.append(min(x1 - x0, y1 - y0))
    return {
        "matched": len(whole),
        "median_iou": float(np.median(whole)),
        "worst_iou": min(whole),
        "thinnest_px": thin[int(np.argmin(whole))],
        "worst_iou_from_32_px": min(value for value, side in zip(whole, thin, strict=True) if side >= 32),
        "median_iou_off_the_border": float(np.median(inner)),
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("images", type=Path)
    parser.add_argument("--tiles", type=int, default=50)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--target", choices=("cpu", "tensorrt"), default="cpu")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
