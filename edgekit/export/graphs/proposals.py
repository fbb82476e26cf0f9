"""Region proposals in static shapes: torchvision's `RegionProposalNetwork.filter_proposals`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import nn

from edgekit.export.graphs.boxes import decode, large_enough, probability, take_rows
from edgekit.export.graphs.sizes import sizes
from edgekit.export.graphs.suppress import Suppressor

CODER_WEIGHTS = (1.0, 1.0, 1.0, 1.0)
SMALLEST_SIDE_PX = 1e-3


class Proposals(NamedTuple):
    """RoIs of B pictures, best first, and which limits bit."""

    boxes: torch.Tensor
    """float32, B x P x 4, xyxy in pixels of the network's picture."""
    valid: torch.Tensor
    """bool, B x P; false rows are zero."""
    settled: torch.Tensor
    """bool, B; NMS came to its end."""
    cut: torch.Tensor
    """bool, B; more than P boxes survived NMS."""


class ProposalStage(nn.Module):
    """From the RPN head's raw maps to P RoIs a picture.

    Args:
        anchors: for each level n x 4, xyxy in pixels, in the order height, width, anchor.
        size_px: side of the network's picture, to which boxes are clipped.
        per_level: most anchors of a level that enter NMS.
        proposals: P.
        suppressor: greedy NMS, run within each level.
    """

    def __init__(
        self,
        anchors: Sequence[torch.Tensor],
        *,
        size_px: int,
        per_level: int,
        proposals: int,
        suppressor: Suppressor,
    ) -> None:
        super().__init__()
        self.levels = len(anchors)
        for number, level in enumerate(anchors):
            self.register_buffer(f"anchors_{number}", level)
        self.size_px = float(size_px)
        self.per_level = min(per_level, max(len(level) for level in anchors))
        self.proposals = proposals
        self.suppressor = suppressor

    def forward(self, objectness: Sequence[torch.Tensor], deltas: Sequence[torch.Tensor]) -> Proposals:
        """Choose, decode, suppress, cut.

        Args:
            objectness: for each level float32, B x A x h x w.
            deltas: for each level float32, B x 4 A x h x w.
        """
        batch = sizes(objectness[0])[0]
        levels = [self._best_of_level(number, objectness[number], deltas[number]) for number in range(self.levels)]
        boxes = torch.stack([level[0] for level in levels], dim=1)
        scores = torch.stack([level[1] for level in levels], dim=1)
        boxes = boxes.clamp(0.0, self.size_px)
        valid = large_enough(boxes, SMALLEST_SIDE_PX) & (scores >= 0.0)
        keep, settled = self.suppressor(boxes.reshape(-1, self.per_level, 4), valid.reshape(-1, self.per_level))
        candidates = self.levels * self.per_level
        survivors = keep.reshape(batch, candidates)
        scores = scores.reshape(batch, candidates)
        ranked = torch.where(survivors, scores, torch.full_like(scores, -1.0))
        number = min(self.proposals, candidates)
        best, rows = ranked.topk(number, dim=1)
        chosen = best >= 0.0
        rois = take_rows(boxes.reshape(batch, candidates, 4), rows) * chosen.unsqueeze(2).to(torch.float32)
        cut = survivors.to(torch.int32).sum(dim=1) > number
        return Proposals(rois, chosen, settled.reshape(batch, self.levels).all(dim=1), cut)

    def _best_of_level(
        self, number: int, objectness: torch.Tensor, deltas: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The level's best anchors, decoded, and their probabilities; rows that a small level lacks have score -1."""
        anchors: torch.Tensor = getattr(self, f"anchors_{number}")
        batch, kinds, height, width = sizes(objectness)
        logits = objectness.permute(0, 2, 3, 1).reshape(batch, len(anchors))
        flat = deltas.reshape(batch, kinds, 4, height, width).permute(0, 3, 4, 1, 2).reshape(batch, len(anchors), 4)
        best, rows = logits.topk(min(self.per_level, len(anchors)), dim=1)
        boxes = decode(take_rows(flat, rows), anchors[rows], CODER_WEIGHTS)
        missing = self.per_level - sizes(best)[1]
        boxes = nn.functional.pad(boxes, (0, 0, 0, missing))
        return boxes, nn.functional.pad(probability(best), (0, missing), value=-1.0)
