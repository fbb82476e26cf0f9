"""A Mask R-CNN of the size that a test can afford: torchvision's heads on a pyramid of seven small convolutions."""

from __future__ import annotations

import copy
from collections import OrderedDict
from dataclasses import replace
from functools import lru_cache

import torch
from torch import nn
from torchvision.models.detection import MaskRCNN

from edgekit.export.models.lively import enliven
from edgekit.export.models.mask_iou import MaskIouHead
from edgekit.export.models.mask_rcnn import two_stage
from edgekit.export.models.ms_rcnn import MaskScoringRoIHeads
from edgekit.export.recipe import Recipe

RECIPE = Recipe(
    model="mask_rcnn",
    classes=("fruit",),
    tile_size_px=128,
    inner_size_px=128,
    mean_rgb=(0.485, 0.456, 0.406),
    std_rgb=(0.229, 0.224, 0.225),
    max_detections=12,
    nms_candidates=60,
    proposals=40,
    nms_iou=0.5,
)


class TinyPyramid(nn.Module):
    """Maps of strides 4 to 64, 256 channels (the MaskIoU head wants them), made by one convolution each."""

    out_channels = 256

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 4, stride=4)
        self.mix = nn.Conv2d(16, 16, 3, padding=1)
        self.laterals = nn.ModuleList([nn.Conv2d(16, 256, 1) for _ in range(4)])

    def forward(self, images: torch.Tensor) -> OrderedDict[str, torch.Tensor]:
        maps: OrderedDict[str, torch.Tensor] = OrderedDict()
        current = torch.relu(self.mix(torch.relu(self.stem(images))))
        for number, lateral in enumerate(self.laterals):
            maps[str(number)] = lateral(current)
            current = nn.functional.avg_pool2d(current, 2)
        maps["pool"] = nn.functional.max_pool2d(maps["3"], 1, 2, 0)
        return maps


def tiny_model(recipe: Recipe = RECIPE, *, seed: int = 0, rescoring: bool = False) -> MaskRCNN:
    """Lively, so that it finds crowded and varied objects; with a MaskIoU head where `rescoring`."""
    return copy.deepcopy(_made(recipe, seed, rescoring))


@lru_cache(maxsize=4)
def _made(recipe: Recipe, seed: int, rescoring: bool) -> MaskRCNN:
    torch.manual_seed(seed)
    model = two_stage(TinyPyramid(), recipe)
    if rescoring:
        model.roi_heads = MaskScoringRoIHeads(model.roi_heads, MaskIouHead(len(recipe.classes) + 1))
    enliven(model, seed)
    return model.eval().requires_grad_(False)


def sized(size_px: int, *, inner_px: int | None = None, **changes: object) -> Recipe:
    """The recipe for another tile and inner size."""
    return replace(RECIPE, tile_size_px=size_px, inner_size_px=inner_px or size_px, **changes)  # type: ignore[arg-type]
