"""The box head's answers as K rows a picture: torchvision's `RoIHeads.postprocess_detections` in static shapes."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn

from edgekit.export.graphs.boxes import decode, large_enough, take_rows
from edgekit.export.graphs.proposals import Proposals
from edgekit.export.graphs.sizes import sizes
from edgekit.export.graphs.suppress import Suppressor

CODER_WEIGHTS = (10.0, 10.0, 5.0, 5.0)
SMALLEST_SIDE_PX = 1e-2


class Rows(NamedTuple):
    """Detections of B pictures, best first."""

    boxes: torch.Tensor
    """float32, B x K x 4, xyxy in pixels of the network's picture."""
    scores: torch.Tensor
    """float32, B x K; class probability."""
    labels: torch.Tensor
    """int64, B x K, from 0 without background."""
    valid: torch.Tensor
    """bool, B x K; false rows are zero and come last."""
    total: torch.Tensor
    """int32, B; rows before the cut to K."""
    settled: torch.Tensor
    """bool, B; NMS came to its end."""


class DetectionStage(nn.Module):
    """From class logits and deltas of the RoIs to K detections.

    NMS runs within each class over all RoIs, so that no limit beside K exists.

    Args:
        size_px: side of the network's picture, to which boxes are clipped.
        limit: K.
        floor: lowest score.
        suppressor: greedy NMS.
    """

    def __init__(self, *, size_px: int, limit: int, floor: float, suppressor: Suppressor) -> None:
        super().__init__()
        self.size_px = float(size_px)
        self.limit = limit
        self.floor = floor
        self.suppressor = suppressor

    def forward(self, logits: torch.Tensor, deltas: torch.Tensor, rois: Proposals) -> Rows:
        """Score, decode, suppress, cut.

        Args:
            logits: float32, B x P x (C + 1), background first.
            deltas: float32, B x P x 4 (C + 1).
            rois: where the heads looked.
        """
        batch, number, columns = sizes(logits)
        classes = columns - 1
        scores = logits.softmax(dim=2)[:, :, 1:].transpose(1, 2)
        boxes = decode(deltas.reshape(batch, number, columns, 4)[:, :, 1:], rois.boxes.unsqueeze(2), CODER_WEIGHTS)
        boxes = boxes.clamp(0.0, self.size_px).transpose(1, 2)
        valid = (scores >= self.floor) & rois.valid.unsqueeze(1) & large_enough(boxes, SMALLEST_SIDE_PX)
        ranked = torch.where(valid, scores, torch.zeros_like(scores)).reshape(batch * classes, number)
        best, rows = ranked.topk(number, dim=1)
        sorted_boxes = take_rows(boxes.reshape(batch * classes, number, 4), rows)
        keep, settled = self.suppressor(sorted_boxes, best > 0.0)
        kept = torch.where(keep, best, torch.zeros_like(best)).reshape(batch, classes * number)
        return self._cut(kept, sorted_boxes.reshape(batch, classes * number, 4), settled.reshape(batch, classes))

    def _cut(self, kept: torch.Tensor, boxes: torch.Tensor, settled: torch.Tensor) -> Rows:
        """The K best of all classes; `kept` holds the survivors' scores, zero elsewhere, class after class."""
        total = (kept > 0.0).to(torch.int32).sum(dim=1)
        found, classes = sizes(kept)[1], sizes(settled)[1]
        missing = max(0, self.limit - found)
        kept = nn.functional.pad(kept, (0, missing))
        boxes = nn.functional.pad(boxes, (0, 0, 0, missing))
        labels = torch.arange(classes).repeat_interleave(found // classes)
        labels = nn.functional.pad(labels, (0, missing))
        scores, rows = kept.topk(self.limit, dim=1)
        valid = scores > 0.0
        chosen = take_rows(boxes, rows) * valid.unsqueeze(2).to(torch.float32)
        return Rows(
            chosen, scores, labels[rows] * valid.to(torch.int64), valid, total.to(torch.int32), settled.all(dim=1)
        )
