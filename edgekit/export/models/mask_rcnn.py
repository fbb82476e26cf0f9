"""Mask R-CNN on ResNet101-FPN (He et al. 2017), torchvision's own model at a recipe's settings."""

from __future__ import annotations

from torch import nn
from torchvision.models.detection import MaskRCNN
from torchvision.models.detection.backbone_utils import resnet_fpn_backbone

from edgekit.export.recipe import Recipe

TRAINABLE_STAGES = 3
"""The stem and the first stage stay frozen, which gives the 62.6 M trainable parameters of the paper's Table 2."""
LONGEST_SIDE_PX = 1333
"""torchvision's limit of the longer side after its resize; square tiles never meet it below that size."""
PROPOSALS = 1000
"""torchvision's number of RoIs, where the recipe names none."""


def mask_rcnn(recipe: Recipe) -> MaskRCNN:
    """Mask R-CNN with ResNet101-FPN; random parameters, evaluation mode.

    The keys of its state dict are those of torchvision (`backbone.body.layer1.0.conv1.weight`, ...), so that whatever
    torchvision trained loads by name, with frozen BatchNorm or with the usual one.
    """
    backbone = resnet_fpn_backbone(backbone_name="resnet101", weights=None, trainable_layers=TRAINABLE_STAGES)
    return two_stage(backbone, recipe)


def two_stage(backbone: nn.Module, recipe: Recipe) -> MaskRCNN:
    """torchvision's Mask R-CNN on a pyramid backbone, at a recipe's sizes and limits; evaluation mode.

    Args:
        backbone: maps `0` to `3` (strides 4 to 32) and `pool` (64); has `out_channels`.
        recipe: its classes (without background) must not be empty.
    """
    proposals = recipe.proposals or PROPOSALS
    model = MaskRCNN(
        backbone,
        num_classes=len(recipe.classes) + 1,
        min_size=recipe.inner_size_px,
        max_size=max(recipe.inner_size_px, LONGEST_SIDE_PX),
        image_mean=list(recipe.mean_rgb),
        image_std=list(recipe.std_rgb),
        rpn_pre_nms_top_n_test=recipe.nms_candidates,
        rpn_post_nms_top_n_test=proposals,
        box_score_thresh=recipe.score_floor,
        box_nms_thresh=recipe.nms_iou,
        box_detections_per_img=recipe.max_detections,
    )
    return model.eval()


def trainable_parameters(model: nn.Module) -> int:
    """Number of parameters that training moves (the convention of the paper's Table 2)."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
