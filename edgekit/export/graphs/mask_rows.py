"""Masks of the detected rows, and, for Mask Scoring R-CNN, their predicted IoU."""

from __future__ import annotations

import torch
from torch import nn

from edgekit.export.graphs.detections import Rows
from edgekit.export.graphs.roi_align import AtlasRoiAlign
from edgekit.export.graphs.sizes import sizes
from edgekit.export.recipe import Target


class MaskStage(nn.Module):
    """The mask head behind its RoI pooling, over the K rows of each picture.

    Half a GMAC a row is most of what an R-CNN costs on a tile with few objects. On the CPU the head therefore sees only
    the rows that exist; the rest are zeros, so that what leaves the stage has static shapes again. TensorRT gets all K.

    Args:
        pool: RoI pooling to 14 x 14.
        head: torchvision's four convolutions.
        predictor: upsampling and one logit plane a class, background first.
        mask_iou_head: `MaskIouHead`, or None.
        target: what the graph will run on.
    """

    def __init__(
        self,
        pool: AtlasRoiAlign,
        head: nn.Module,
        predictor: nn.Module,
        *,
        mask_iou_head: nn.Module | None,
        target: Target,
    ) -> None:
        super().__init__()
        self.pool = pool
        self.head = head
        self.predictor = predictor
        self.mask_iou_head = mask_iou_head
        self.target = target

    def forward(self, atlas: torch.Tensor, rows: Rows) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw the masks.

        Args:
            atlas: float32, B x C x height x width.
            rows: detections.

        Returns:
            float32, B x K x m x m, probabilities, zero in rows that are not valid; and float32, B x K, predicted IoU
            within 0..1 (1 without a MaskIoU head).
        """
        batch, limit = sizes(rows.valid)
        image = torch.arange(batch).repeat_interleave(limit)
        boxes, labels = rows.boxes.reshape(batch * limit, 4), rows.labels.reshape(batch * limit)
        if self.target == "cpu":
            found = torch.nonzero(rows.valid.reshape(batch * limit))[:, 0]
            drawn, quality = self._draw(atlas, boxes[found], image[found], labels[found])
            side = sizes(drawn)[-1]
            masks = torch.zeros(batch * limit, side, side).index_put((found,), drawn)
            qualities = torch.zeros(batch * limit).index_put((found,), quality)
        else:
            drawn, qualities = self._draw(atlas, boxes, image, labels)
            side = sizes(drawn)[-1]
            masks = drawn * rows.valid.reshape(batch * limit, 1, 1).to(torch.float32)
        return masks.reshape(batch, limit, side, side), qualities.reshape(batch, limit)

    def _draw(
        self, atlas: torch.Tensor, boxes: torch.Tensor, image: torch.Tensor, labels: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Mask of the row's own class (N x m x m) and its predicted IoU (N)."""
        features = self.pool(atlas, boxes, image)
        logits = self.predictor(self.head(features))[:, 1:]
        masks = _of_class(logits, labels).to(torch.float32).sigmoid()
        if self.mask_iou_head is None:
            return masks, torch.ones_like(labels, dtype=torch.float32)
        predicted = self.mask_iou_head(features, masks.unsqueeze(1))[:, 1:]
        return masks, _of_class(predicted, labels).to(torch.float32).clamp(0.0, 1.0)


def _of_class(columns: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """For each row of N x C x ... the entry of its class: N x ...; free of any gathering with one class."""
    _, classes, *rest = sizes(columns)
    if classes == 1:
        return columns[:, 0]
    index = labels.reshape(-1, *[1] * (columns.dim() - 1)).expand(-1, 1, *rest)
    return columns.gather(1, index)[:, 0]
