"""How many steps the fixed point of NMS takes, on real tiles and on uniform ones.

    python bench/export/nms_steps.py mask_rcnn --images FOLDER [--tiles 20] [--json F]

Printed for the proposals (five levels) and for the detections: the steps until nothing changes, least, median, most.
"""

from __future__ import annotations

import json

import numpy as np
import torch
from rcnn_graphs import Tiles, case_of, parser_of, real_tiles, special_tiles
from torch import nn

from edgekit.export.graphs.boxes import pairwise_iou
from edgekit.export.rcnn import static_graph


class CountingSuppressor(nn.Module):
    """The fixed point, run to its end."""

    def __init__(self, iou: float) -> None:
        super().__init__()
        self.iou = iou
        self.steps: list[int] = []

    def forward(self, boxes: torch.Tensor, valid: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        keeps = []
        for group, eligible in zip(boxes, valid.float(), strict=True):
            overlaps = (pairwise_iou(group[None])[0] > self.iou).float().triu(diagonal=1)
            keep, steps = eligible, 0
            while True:
                after = eligible * ((keep @ overlaps) < 0.5).float()
                steps += 1
                if torch.equal(after, keep):
                    break
                keep = after
            self.steps.append(steps)
            keeps.append(keep > 0.5)
        return torch.stack(keeps), torch.ones(len(boxes), dtype=torch.bool)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--tiles", type=int, default=20)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    case = case_of(args)
    graph = static_graph(case.model(), case.recipe, target="tensorrt")
    size = case.recipe.tile_size_px
    groups: dict[str, Tiles] = {"real": real_tiles(args.images, args.tiles, size)}
    groups |= dict(zip(("black", "white", "noise"), special_tiles(size)[:, None], strict=True))
    report: dict[str, dict[str, list[int]]] = {}
    for name, tiles in groups.items():
        for stage in (graph.proposals, graph.detections):
            stage.suppressor = CountingSuppressor(stage.suppressor.iou)
        with torch.no_grad():
            for tile in tiles:
                graph(torch.from_numpy(tile[None]))
        for label, stage in (("proposals", graph.proposals), ("detections", graph.detections)):
            steps = sorted(stage.suppressor.steps)
            report.setdefault(name, {})[label] = [steps[0], int(np.median(steps)), steps[-1]]
            print(f"{name:6} {label:11} {steps[0]:4} {int(np.median(steps)):4} {steps[-1]:4}", flush=True)
    if args.json:
        args.json.write_text(json.dumps(report))


if __name__ == "__main__":
    main()
