"""Mask Scoring R-CNN (Huang et al. 2019): Mask R-CNN whose score is class probability x predicted mask IoU."""

from __future__ import annotations

import torch
from torchvision.models.detection import MaskRCNN
from torchvision.models.detection.roi_heads import RoIHeads, fastrcnn_loss, maskrcnn_loss, project_masks_on_boxes

from edgekit.export.models.mask_iou import MaskIouHead, mask_iou_targets
from edgekit.export.models.mask_rcnn import mask_rcnn
from edgekit.export.recipe import Recipe

Sample = dict[str, torch.Tensor]


def ms_rcnn(recipe: Recipe) -> MaskRCNN:
    """Mask R-CNN on ResNet101-FPN with a MaskIoU head; random parameters, evaluation mode.

    Its state dict has torchvision's keys and `roi_heads.mask_iou_head.*`.
    """
    model = mask_rcnn(recipe)
    model.roi_heads = MaskScoringRoIHeads(model.roi_heads, MaskIouHead(len(recipe.classes) + 1))
    return model.eval()


class MaskScoringRoIHeads(RoIHeads):  # type: ignore[misc]
    """torchvision's heads and the MaskIoU head behind them.

    In evaluation the rescoring comes after NMS and the cut to the limit, as in the paper; rows whose new score is below
    the floor are dropped, the rest is sorted again. `scores` is the product, `class_scores` the class probability.
    """

    def __init__(self, heads: RoIHeads, mask_iou_head: MaskIouHead) -> None:
        super().__init__(
            heads.box_roi_pool, heads.box_head, heads.box_predictor,
            heads.proposal_matcher.high_threshold, heads.proposal_matcher.low_threshold,
            heads.fg_bg_sampler.batch_size_per_image, heads.fg_bg_sampler.positive_fraction,
            heads.box_coder.weights, heads.score_thresh, heads.nms_thresh, heads.detections_per_img,
            heads.mask_roi_pool, heads.mask_head, heads.mask_predictor,
        )  # fmt: skip
        self.mask_iou_head = mask_iou_head

    def forward(
        self,
        features: dict[str, torch.Tensor],
        proposals: list[torch.Tensor],
        image_shapes: list[tuple[int, int]],
        targets: list[Sample] | None = None,
    ) -> tuple[list[Sample], dict[str, torch.Tensor]]:
        """Detections with rescored masks, or, in training, the losses with `loss_mask_iou` among them."""
        if self.training:
            return [], self._losses(features, proposals, image_shapes, targets)
        detections, losses = super().forward(features, proposals, image_shapes, targets)
        pooled = self.mask_roi_pool(features, [found["boxes"] for found in detections], image_shapes)
        per_image = [len(found["boxes"]) for found in detections]
        return [
            self._rescored(found, rois) for found, rois in zip(detections, pooled.split(per_image), strict=True)
        ], losses

    def _rescored(self, found: Sample, roi_features: torch.Tensor) -> Sample:
        predicted = self.mask_iou_head(roi_features, found["masks"])
        quality = predicted.gather(1, found["labels"][:, None])[:, 0].clamp(0.0, 1.0)
        rescored = {**found, "class_scores": found["scores"], "scores": found["scores"] * quality}
        kept = torch.nonzero(rescored["scores"] >= self.score_thresh)[:, 0]
        kept = kept[rescored["scores"][kept].argsort(descending=True, stable=True)]
        return {name: column[kept] for name, column in rescored.items()}

    def _losses(
        self,
        features: dict[str, torch.Tensor],
        proposals: list[torch.Tensor],
        image_shapes: list[tuple[int, int]],
        targets: list[Sample] | None,
    ) -> dict[str, torch.Tensor]:
        """torchvision's four losses and the squared error of the predicted mask IoU."""
        proposals, matched, labels, regression = self.select_training_samples(proposals, targets)
        assert targets is not None
        logits, deltas = self.box_predictor(self.box_head(self.box_roi_pool(features, proposals, image_shapes)))
        loss_classifier, loss_box = fastrcnn_loss(logits, deltas, labels, regression)
        positive = [torch.nonzero(label > 0)[:, 0] for label in labels]
        boxes = [box[rows] for box, rows in zip(proposals, positive, strict=True)]
        matched = [index[rows] for index, rows in zip(matched, positive, strict=True)]
        classes = torch.cat([label[rows] for label, rows in zip(labels, positive, strict=True)])
        roi_features = self.mask_roi_pool(features, boxes, image_shapes)
        mask_logits = self.mask_predictor(self.mask_head(roi_features))
        true_masks = [target["masks"] for target in targets]
        loss_mask = maskrcnn_loss(mask_logits, boxes, true_masks, [target["labels"] for target in targets], matched)
        chosen = mask_logits[torch.arange(len(classes), device=classes.device), classes].sigmoid().detach()
        predicted = self.mask_iou_head(roi_features, chosen[:, None]).gather(1, classes[:, None])[:, 0]
        return {
            "loss_classifier": loss_classifier,
            "loss_box_reg": loss_box,
            "loss_mask": loss_mask,
            "loss_mask_iou": mask_iou_loss(predicted, chosen, boxes, matched, true_masks),
        }


def mask_iou_loss(
    predicted: torch.Tensor,
    masks: torch.Tensor,
    boxes: list[torch.Tensor],
    matched: list[torch.Tensor],
    true_masks: list[torch.Tensor],
) -> torch.Tensor:
    """Mean squared error of the predicted IoU over the RoIs whose object has a pixel in the box.

    Args:
        predicted: N, over all images.
        masks: N x m x m, probabilities.
        boxes: for each image n x 4, xyxy in pixels.
        matched: for each image n, index of the RoI's object.
        true_masks: for each image objects x H x W, 0 or 1.
    """
    side = masks.shape[-1]
    wanted = []
    for box, index, objects, found in zip(
        boxes, matched, true_masks, torch.split(masks, [len(b) for b in boxes]), strict=True
    ):
        inside = project_masks_on_boxes(objects, box, index, side)
        wanted.append(mask_iou_targets(found, box, inside, objects[index]))
    target = torch.cat(wanted)
    counted = target > 0
    return ((predicted - target)[counted] ** 2).sum() / counted.sum().clamp(min=1)
