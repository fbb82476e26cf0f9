"""Exported R-CNN graphs against torchvision's own forward, detection by detection.

    python bench/export/rcnn_parity.py mask_rcnn --images FOLDER [--tiles 50] [--batch 4] [--precision fp16]
        [--target tensorrt] [--raw] [--cache FOLDER] [--json F]

Answers are kept in `--cache`, so that batches, precisions and targets are compared with the same ones, and a run that
was stopped goes on (those of the graph hold until the code that makes it changes).

The model is untrained and made lively (edgekit/export/models/lively.py). Detections are matched by mask IoU; exempt,
and counted, are scores within 1e-4 of the floor and rows at the cut to K; mask values are compared in the masks' own
frame, of every pair. Black, white and noise tiles come last and are reported apart: on a uniform tile thousands of
anchors tie up to the last bit, and which of them enter is nobody's to say. With `--raw` torchvision also chooses among
the graph's own raw values there (rcnn_probe.py), so that nothing but the choice is compared.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from rcnn_answers import GraphAnswers, TorchvisionAnswers
from rcnn_graphs import case_of, parser_of, real_tiles, special_tiles
from rcnn_probe import Probe
from torchvision.models.detection.roi_heads import paste_masks_in_image

from edgekit.contracts import Instances, MaskCrop, ModelInfo, TileResult
from edgekit.export.parity import compare, match
from edgekit.export.rcnn_reference import ReferenceRows
from edgekit.masks import trim
from edgekit.segment.rows import Outputs, decode_rows

DECIDED_FROM = 0.95
"""Pairs that overlap less are looked at pixel by pixel."""
SHOWN = 20
"""Rows without a partner that are written down, of each group."""


@dataclass(frozen=True)
class Figures:
    """One group of tiles."""

    tiles: int
    reference: int
    graph: int
    matched: int
    unmatched: int
    exempt: int
    pasted_apart: int
    """Matched rows whose mask is pasted a pixel apart, because a side of the box lies at a whole pixel: not among the
    IoUs."""
    worst_mask_iou: float | None
    worst_decided_iou: float | None
    """The same without pixels whose probability, as torchvision pastes it, is within 1/255 of 0.5: there the tails of
    two saturated values decide, of which the contract's eight bits keep nothing. At most `DECIDED_FROM`."""
    median_mask_iou: float | None
    box_px: float | None
    score: float | None
    mask_255: float | None
    """Largest difference of a mask value in its own frame, in 255ths; rounding to uint8 alone gives 0.5."""
    rows_a_tile: tuple[int, int, int]
    """Least, median, most."""
    over_the_limit: int
    """Tiles with more than K candidates."""
    flags: dict[int, int]
    mask_logit_deviation: float | None
    """Spread of the masks' logits, over pixels and detections."""
    lonely: list[str]
    """The first rows without a partner."""


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--tiles", type=int, default=50)
    parser.add_argument("--target", choices=("cpu", "tensorrt"), default="cpu")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--raw", action="store_true", help="black, white and noise also by the graph's raw values")
    args = parser.parse_args()
    case = case_of(args)
    recipe = case.recipe
    if args.raw and (recipe.batch, recipe.precision) != (1, "fp32"):
        parser.error("--raw is for batch 1 in fp32")
    torch.set_num_threads(args.threads)
    reference, graph = TorchvisionAnswers(case, args.cache), GraphAnswers(case, args.target, args.cache)
    groups = {"real": real_tiles(args.images, args.tiles, recipe.tile_size_px)}
    special = special_tiles(recipe.tile_size_px)[:, None]
    groups |= dict(zip(("black", "white", "noise"), special, strict=True))
    report = {"recipe": asdict(recipe), "target": args.target, "seed": args.seed}

    def tell(name: str, figures: Figures) -> None:
        report[name] = asdict(figures)
        print(f"{args.recipe} {args.target} {recipe.precision} batch {recipe.batch}, {name}: {figures}", flush=True)
        if args.json:
            args.json.write_text(json.dumps(report, indent=1))

    for name, tiles in groups.items():
        tell(name, figures_of(graph.info, graph.outputs(tiles), [reference.rows(tile) for tile in tiles]))
    if args.raw:
        probe = Probe(case, args.target)
        for name, (tile,) in list(groups.items())[1:]:
            outputs, rows = probe.run(tile)
            tell(f"{name}, torchvision with the graph's raw values", figures_of(graph.info, outputs, [rows]))


def figures_of(info: ModelInfo, outputs: Outputs, references: Sequence[ReferenceRows]) -> Figures:
    """Compare a graph's outputs, tile by tile, with torchvision's rows."""
    theirs = [result_of(rows) for rows in references]
    ours = [decode_rows(outputs, index, info) for index in range(len(references))]
    report = compare(theirs, ours, info=info, threshold=0.5)
    values = [
        np.abs(rows.masks[i] * 255.0 - outputs["masks"][index, j]).max()
        for index, (rows, a, b) in enumerate(zip(references, theirs, ours, strict=True))
        for i, j, _ in match(a.instances, b.instances)
    ]
    decided = [
        decided_iou(rows, i, b.instances.masks[j])
        for rows, a, b in zip(references, theirs, ours, strict=True)
        for i, j, overlap in match(a.instances, b.instances)
        if overlap < DECIDED_FROM
    ]
    counts = sorted(len(result.instances) for result in ours)
    flags = [int(result.flags) for result in ours]
    return Figures(
        len(references), report.reference, report.candidate, report.matched, report.unmatched, report.exempt,
        report.pasted_apart,
        report.worst_iou, min([*decided, DECIDED_FROM]), report.median_iou,
        report.box_difference_px, report.score_difference,
        float(max(values)) if values else None,
        (counts[0], counts[len(counts) // 2], counts[-1]),
        sum(result.cut_to_limit for result in ours),
        {flag: flags.count(flag) for flag in set(flags)},
        logit_deviation(references),
        [line for tile, pair in enumerate(zip(theirs, ours, strict=True)) for line in lonely_rows(tile, *pair)][:SHOWN],
    )  # fmt: skip


def decided_iou(rows: ReferenceRows, row: int, found: MaskCrop) -> float:
    """Mask IoU of a pair over the pixels that torchvision's own probabilities decide."""
    size = rows.planes.shape[1:]
    mask, box = torch.tensor(rows.masks[row : row + 1, None]), torch.tensor(rows.boxes[row : row + 1])
    pasted = paste_masks_in_image(mask, box, size)[0, 0].numpy()
    ours = np.zeros(size, np.bool_)
    height, width = found.plane.shape
    ours[found.y_px : found.y_px + height, found.x_px : found.x_px + width] = found.plane
    clear = np.abs(pasted - 0.5) > 1.0 / 255.0
    theirs = pasted >= 0.5
    return float((ours & theirs & clear).sum() / max(int(((ours | theirs) & clear).sum()), 1))


def lonely_rows(tile: int, reference: TileResult, graph: TileResult) -> list[str]:
    """A line for each row that has no partner: where it is, its score, and the pixels of its mask."""
    pairs = match(reference.instances, graph.instances)
    lines = []
    for name, side, column in (("torchvision", reference.instances, 0), ("graph", graph.instances, 1)):
        for row in np.setdiff1d(np.arange(len(side)), [pair[column] for pair in pairs]):
            box = ", ".join(f"{value:.1f}" for value in side.boxes_xyxy[row])
            lines.append(f"tile {tile} {name}: {box} score {side.scores[row]:.5f} pixels {side.masks[row].area_px}")
    return lines


def result_of(rows: ReferenceRows) -> TileResult:
    masks = tuple(trim(MaskCrop(plane, 0, 0)) for plane in rows.planes)
    return TileResult(Instances(rows.boxes, rows.scores, rows.labels, masks), len(masks))


def logit_deviation(references: Sequence[ReferenceRows]) -> float | None:
    """Of all mask pixels; probabilities that float32 rounds to 0 or 1 are left out."""
    values = np.concatenate([rows.masks.ravel() for rows in references]).astype(np.float64)
    values = values[(values > 0) & (values < 1)]
    return float(np.log(values / (1 - values)).std()) if len(values) else None


if __name__ == "__main__":
    main()
