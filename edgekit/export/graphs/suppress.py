"""Greedy NMS in static shapes, for each target by what it runs best; the kept boxes are the same."""

from __future__ import annotations

import torch
from torch import nn

from edgekit.export.graphs.boxes import pairwise_iou
from edgekit.export.graphs.keep_greedy import KeepGreedy
from edgekit.export.graphs.sizes import sizes
from edgekit.export.recipe import Target

STEPS = 32
"""Unrolled steps of the fixed point, some four times what ordinary pictures take; `python bench/export/nms_steps.py`
prints what a set of tiles takes."""


class Suppressor(nn.Module):
    """Which boxes of a list in falling order of score survive greedy NMS.

    Args:
        iou: a box that overlaps a better, kept one by more is dropped.
        target: what the graph will run on.
        steps: of the fixed point, where it is used.
    """

    def __init__(self, iou: float, target: Target, *, steps: int = STEPS) -> None:
        super().__init__()
        self.iou = iou
        self.target = target
        self.steps = steps

    def forward(self, boxes: torch.Tensor, valid: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Suppress within each group.

        Args:
            boxes: float32, G x N x 4, best first.
            valid: bool, G x N; false rows neither survive nor suppress.

        Returns:
            bool, G x N, the survivors; and bool, G, whether each group's result is final.
        """
        if self.target == "cpu":
            return self._by_operator(boxes, valid)
        return keep_fixed_point(boxes, valid, iou=self.iou, steps=self.steps)

    def _by_operator(self, boxes: torch.Tensor, valid: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The rank serves as score, so that ties go by rank and not by the operator's taste."""
        groups, number, _ = sizes(boxes)
        rank = torch.arange(number, 0, -1, dtype=torch.float32)
        ranks = (valid.to(torch.float32) * rank).reshape(groups, 1, number)
        keep = KeepGreedy.apply(boxes.reshape(groups, number, 4), ranks, self.iou)
        return keep > 0.5, torch.ones(groups, dtype=torch.bool)


def keep_fixed_point(
    boxes: torch.Tensor, valid: torch.Tensor, *, iou: float, steps: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Greedy NMS as the fixed point of keep[i] = valid[i] and no j < i with keep[j] overlaps i.

    Row i depends on rows before it only, so that the fixed point is unique and is the greedy result. A row is right
    after as many steps as its chain of suppressions is long: about 8 on ordinary pictures, over 100 where all scores
    tie and the boxes lie on the anchor lattice. What has not changed in a step never changes again.

    Args:
        boxes: float32, G x N x 4, best first.
        valid: bool, G x N.
        iou: overlap above which the later box goes.
        steps: number of steps, at least 1.

    Returns:
        bool, G x N, the survivors; and bool, G, whether the last step changed nothing.
    """
    number = sizes(boxes)[1]
    before = torch.ones((number, number)).triu(diagonal=1)
    overlaps = (pairwise_iou(boxes) > iou).to(torch.float32) * before
    eligible = valid.to(torch.float32).unsqueeze(1)
    keep, previous = eligible, eligible
    for _ in range(steps):
        previous = keep
        keep = eligible * ((keep @ overlaps) < 0.5).to(torch.float32)
    settled = (keep - previous).abs().amax(dim=(1, 2)) < 0.5
    return keep.squeeze(1) > 0.5, settled
