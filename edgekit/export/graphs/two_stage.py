"""A torchvision Mask R-CNN as a graph of the contract, from uint8 tiles to K rows.

`TwoStageGraph.forward` is the recipe: prepare, pyramid, proposals, box head, detections, masks, outputs.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torchvision.models.detection import MaskRCNN
from torchvision.models.detection.image_list import ImageList

from edgekit.contracts import ResultFlag
from edgekit.export.graphs.atlas import LEVELS, Layout, pack
from edgekit.export.graphs.boxes import take_rows
from edgekit.export.graphs.detections import DetectionStage, Rows
from edgekit.export.graphs.mask_rows import MaskStage
from edgekit.export.graphs.proposals import Proposals, ProposalStage
from edgekit.export.graphs.roi_align import AtlasRoiAlign
from edgekit.export.graphs.sizes import sizes
from edgekit.export.graphs.suppress import Suppressor
from edgekit.export.recipe import Target

BOX_CELLS = 7
MASK_CELLS = 14


@dataclass(frozen=True)
class TwoStageSettings:
    """What the graph is built for, beyond what the model itself holds."""

    target: Target
    tile_size_px: int
    batch: int


class TwoStageGraph(nn.Module):
    """A torchvision Mask R-CNN with everything around it, in static shapes.

    Args:
        model: in evaluation mode; its limits, floor, IoU, normalisation and inner size are taken over. Copied.
        backbone: what turns a picture into pyramid maps P2 to P6, equal to `model.backbone`, made ready for export.
        settings: sizes and target.
    """

    def __init__(self, model: MaskRCNN, backbone: nn.Module, settings: TwoStageSettings) -> None:
        super().__init__()
        heads: Any = copy.deepcopy(model.roi_heads)
        self.settings = settings
        self.size_px = int(model.transform.min_size[-1])
        self.prepare = Prepare(model.transform.image_mean, model.transform.image_std, self.size_px)
        self.backbone = backbone
        self.rpn_head = copy.deepcopy(model.rpn.head)
        with torch.no_grad():
            maps = list(backbone(torch.zeros(settings.batch, 3, self.size_px, self.size_px)).values())
        self.layout = Layout.of([level.shape[-1] for level in maps[:LEVELS]])
        target = settings.target
        self.proposals = ProposalStage(
            level_anchors(model, maps, self.size_px),
            size_px=self.size_px,
            per_level=model.rpn.pre_nms_top_n(),
            proposals=model.rpn.post_nms_top_n(),
            suppressor=Suppressor(model.rpn.nms_thresh, target),
        )
        self.box_pool = AtlasRoiAlign(BOX_CELLS, self.layout, target)
        self.box_head = heads.box_head
        self.box_predictor = heads.box_predictor
        self.detections = DetectionStage(
            size_px=self.size_px,
            limit=heads.detections_per_img,
            floor=heads.score_thresh,
            suppressor=Suppressor(heads.nms_thresh, target),
        )
        self.floor = float(heads.score_thresh)
        self.rescores = hasattr(heads, "mask_iou_head")
        self.masks = MaskStage(
            AtlasRoiAlign(MASK_CELLS, self.layout, target),
            heads.mask_head,
            heads.mask_predictor,
            mask_iou_head=heads.mask_iou_head if self.rescores else None,
            target=target,
        )

    def forward(self, tiles: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """uint8 tiles, B x S x S x 3, to the outputs of the graph contract."""
        maps = list(self.backbone(self.prepare(tiles)).values())
        objectness, deltas = self.rpn_head(maps)
        rois = self.proposals([level.float() for level in objectness], [level.float() for level in deltas])
        atlas = pack([level.float() for level in maps[:LEVELS]], self.layout)
        rows = self.detections(*self._look(atlas, rois), rois)
        masks, quality = self.masks(atlas, rows)
        flags = (~(rois.settled & rows.settled)).to(torch.int32) * int(ResultFlag.NMS_NOT_CONVERGED)
        flags = flags + rois.cut.to(torch.int32) * int(ResultFlag.PROPOSALS_CUT)
        return self._outputs(rows, masks, quality, flags)

    def _look(self, atlas: torch.Tensor, rois: Proposals) -> tuple[torch.Tensor, torch.Tensor]:
        """Class logits (B x P x (C + 1)) and box deltas (B x P x 4 (C + 1)) of the RoIs.

        On the CPU the head sees only RoIs that exist, in the order that suits the cache; the rest is zero.
        """
        batch, number, _ = sizes(rois.boxes)
        image = torch.arange(batch).repeat_interleave(number)
        boxes = rois.boxes.reshape(batch * number, 4)
        if self.settings.target == "cpu":
            found = torch.nonzero(rois.valid.reshape(batch * number))[:, 0]
            found = found[self.box_pool.reading_order(boxes[found], image[found])]
            answers = self.box_predictor(self.box_head(self.box_pool(atlas, boxes[found], image[found])))
            answers = [
                torch.zeros(batch * number, sizes(answer)[1]).index_put((found,), answer.float()) for answer in answers
            ]
        else:
            answers = self.box_predictor(self.box_head(self.box_pool(atlas, boxes, image)))
        logits, deltas = (answer.float().reshape(batch, number, -1) for answer in answers)
        return logits, deltas

    def _outputs(
        self, rows: Rows, masks: torch.Tensor, quality: torch.Tensor, flags: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        """Rows in the contract's names, units and order; rescored rows are sorted again and held to the floor."""
        boxes = rows.boxes * (self.settings.tile_size_px / self.size_px)
        scores, labels, class_scores, valid = rows.scores, rows.labels, rows.scores, rows.valid
        if self.rescores:
            product = rows.scores * quality
            product = torch.where(product >= self.floor, product, torch.zeros_like(product))
            scores, order = product.topk(sizes(product)[1], dim=1)
            valid = scores > 0.0
            kept = valid.to(torch.float32)
            boxes = take_rows(boxes, order) * kept.unsqueeze(2)
            labels = labels.gather(1, order) * valid.to(torch.int64)
            class_scores = class_scores.gather(1, order) * kept
            masks = take_rows(masks.flatten(2), order).reshape(sizes(masks)) * kept[:, :, None, None]
        count = valid.to(torch.int32).sum(dim=1).to(torch.int32)
        pixels = (masks * 255.0).round().to(torch.uint8)
        outputs = (count, boxes, scores, labels.to(torch.int32), pixels, rows.total, flags)
        return (*outputs, class_scores) if self.rescores else outputs


class Prepare(nn.Module):
    """uint8 tiles to the network's normalised picture, as torchvision's transform does it.

    Args:
        mean: of R, G and B, in 0..1.
        std: likewise.
        size_px: side of the network's picture.
    """

    mean: torch.Tensor
    std: torch.Tensor

    def __init__(self, mean: list[float], std: list[float], size_px: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean)[:, None, None])
        self.register_buffer("std", torch.tensor(std)[:, None, None])
        self.size_px = size_px

    def forward(self, tiles: torch.Tensor) -> torch.Tensor:
        """uint8, B x S x S x 3, to float32, B x 3 x size x size."""
        image = tiles.to(torch.float32).permute(0, 3, 1, 2) / 255.0
        image = (image - self.mean) / self.std
        if sizes(image)[-1] == self.size_px:
            return image
        size = (self.size_px, self.size_px)
        return nn.functional.interpolate(image, size=size, mode="bilinear", align_corners=False)


def level_anchors(model: MaskRCNN, maps: list[torch.Tensor], size_px: int) -> list[torch.Tensor]:
    """The model's own anchors, level by level, n x 4."""
    picture = ImageList(torch.zeros(1, 3, size_px, size_px), [(size_px, size_px)])
    anchors = model.rpn.anchor_generator(picture, maps)[0]
    kinds = model.rpn.anchor_generator.num_anchors_per_location()
    numbers = [level.shape[-1] * level.shape[-2] * kind for level, kind in zip(maps, kinds, strict=True)]
    return list(anchors.split(numbers))
