"""Mask R-CNN on Swin Transformer v2-T (Liu et al. 2022) with FPN."""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import nn
from torchvision.models import swin_v2_t
from torchvision.models.detection import MaskRCNN
from torchvision.ops import FeaturePyramidNetwork
from torchvision.ops.feature_pyramid_network import LastLevelMaxPool

from edgekit.export.models.mask_rcnn import two_stage
from edgekit.export.recipe import Recipe

STAGES = (1, 3, 5, 7)
"""Blocks of `swin_v2_t().features` whose outputs have strides 4, 8, 16 and 32; those between them merge patches."""
STAGE_CHANNELS = (96, 192, 384, 768)
FPN_CHANNELS = 256
FROZEN_BLOCKS = 5
"""Of the eight feature blocks; gives the 45.9 M trainable parameters of the paper's Table 2."""


class SwinBody(nn.Module):
    """The feature blocks of torchvision's Swin v2-T; a classifier's `features.*` load into it by name."""

    def __init__(self) -> None:
        super().__init__()
        self.features = swin_v2_t(weights=None).features

    def forward(self, images: torch.Tensor) -> OrderedDict[str, torch.Tensor]:
        """Images (N x 3 x H x W) to the four stages' maps, `0` to `3`, channels first."""
        maps: OrderedDict[str, torch.Tensor] = OrderedDict()
        current = images
        for number, block in enumerate(self.features):
            current = block(current)
            if number in STAGES:
                maps[str(len(maps))] = current.permute(0, 3, 1, 2).contiguous()
        return maps


class SwinFpnBackbone(nn.Module):
    """Swin body and feature pyramid, under the names of torchvision's `BackboneWithFPN`."""

    out_channels = FPN_CHANNELS

    def __init__(self) -> None:
        super().__init__()
        self.body = SwinBody()
        self.fpn = FeaturePyramidNetwork(list(STAGE_CHANNELS), FPN_CHANNELS, extra_blocks=LastLevelMaxPool())

    def forward(self, images: torch.Tensor) -> OrderedDict[str, torch.Tensor]:
        """Images (N x 3 x H x W) to pyramid maps `0` to `3` and `pool`, each N x 256 x h x w."""
        maps: OrderedDict[str, torch.Tensor] = self.fpn(self.body(images))
        return maps


def mask_rcnn_sw(recipe: Recipe) -> MaskRCNN:
    """Mask R-CNN with Swin v2-T and FPN; random parameters, evaluation mode."""
    backbone = SwinFpnBackbone()
    for block in backbone.body.features[:FROZEN_BLOCKS]:
        block.requires_grad_(False)
    return two_stage(backbone, recipe)
