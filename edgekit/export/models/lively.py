"""Random parameters that behave like a trained detector: crowded and varied detections.

Plain random initialisation gives a detector that finds nothing, or the same everywhere, so that neither parity nor
speed measured with it means anything. Here each part is calibrated on pictures, from the input to the heads: every
BatchNorm gets the statistics of what really reaches it, and every output layer is scaled so that its outputs have a
wanted mean and spread over the pictures. No score may saturate, on photographs either: float32 holds few numbers close
to 1, so that rounding alone would decide which of two objects comes first in NMS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import nn
from torchvision.models.detection import MaskRCNN
from torchvision.ops import FrozenBatchNorm2d

from edgekit.export.models.mask_iou import MaskIouHead
from edgekit.export.models.ms_rcnn import MaskScoringRoIHeads

PICTURES = 2
"""Pictures that the statistics are taken from; each has about a million positions per channel in the first layers."""


class Spread(NamedTuple):
    """Wanted mean and standard deviation of an output layer, over pictures, positions and RoIs."""

    mean: float
    deviation: float


RESIDUAL_GAIN = 0.1
"""Of each residual branch against its shortcut. At 1 a random stack of 33 blocks answers to one picture several times
as strongly as to another; float32 rounding reaches P2 as 2.7e-6 of its spread at 0.25, and as 1.1e-6 at 0.1."""
OBJECTNESS = Spread(-1.0, 1.0)
RPN_DELTAS = Spread(0.0, 0.25)
"""In units of the anchor: boxes near their anchors, of varied size."""
CLASS_LOGITS = Spread(0.0, 0.7)
CANDIDATE_SHARE = 0.3
"""Of the proposals that exceed the score floor on the calibration pictures; on photographs some 10 to 100 rows are left
after NMS (`python bench/export/rcnn_parity.py` prints how many)."""
BOX_DELTAS = Spread(0.0, 0.6)
"""Divided by 10 (shift) and 5 (size) in the box coder."""
MASK_LOGITS = Spread(0.0, 4.0)
"""Masks with clear insides and outsides, as trained ones have; `bench/export/rcnn_parity.py` prints what came out."""
MASK_IOU = Spread(0.7, 0.15)


def enliven(model: MaskRCNN, seed: int, *, pictures: torch.Tensor | None = None) -> None:
    """Give a Mask R-CNN random parameters that find many different objects.

    Args:
        model: changed in place; left in evaluation mode.
        seed: the same seed, size and versions give the same parameters.
        pictures: float32, N x 3 x S x S, 0..1, to calibrate on; None: synthetic ones from the seed.
    """
    model.eval()
    generator = torch.Generator().manual_seed(seed)
    size = model.transform.min_size[-1]
    images = synthetic_pictures(PICTURES, size, generator) if pictures is None else pictures
    _randomise(model, generator)
    with torch.no_grad(), _batch_norms_calibrated(model.backbone):
        batch, _ = model.transform(list(images))
        features = model.backbone(batch.tensors)
    with torch.no_grad():
        _calibrate_rpn(model, list(features.values()))
        proposals, _ = model.rpn(batch, features)
        _calibrate_heads(model, features, proposals, batch.image_sizes)


def synthetic_pictures(number: int, size_px: int, generator: torch.Generator) -> torch.Tensor:
    """Pictures with structure at all scales: noise of the same amplitude in every octave, under bright discs.

    Photographs have about equal energy in each octave (Field 1987). With less in the fine ones a random backbone
    answers to a photograph two to six times as strongly as to what it was calibrated on.

    Returns:
        float32, number x 3 x size x size, 0..1.
    """
    canvas = torch.zeros(number, 3, size_px, size_px)
    side = 4
    while side <= size_px:
        noise = torch.randn(number, 3, side, side, generator=generator)
        canvas += nn.functional.interpolate(noise, size=(size_px, size_px), mode="bilinear")
        side *= 2
    canvas = 0.45 + 0.1 * canvas
    y, x = torch.meshgrid(torch.arange(size_px), torch.arange(size_px), indexing="ij")
    for image in canvas:
        for _ in range(30):
            cx, cy, r, *colour = torch.rand(6, generator=generator).tolist()
            radius = (0.01 + 0.09 * r) * size_px
            inside = (x - cx * size_px) ** 2 + (y - cy * size_px) ** 2 < radius**2
            image[:, inside] = 0.5 * image[:, inside] + 0.5 * torch.tensor(colour)[:, None]
    return canvas.clamp(0.0, 1.0)


def _randomise(model: nn.Module, generator: torch.Generator) -> None:
    """Draw every matrix and kernel so that it keeps the variance of its input (He et al. 2015); biases become zero."""
    for name, module in model.named_modules():
        if isinstance(module, FrozenBatchNorm2d):
            module.weight.fill_(RESIDUAL_GAIN if name.endswith("bn3") else 1.0)
            module.bias.zero_()
        if isinstance(module, (nn.Conv2d, nn.Linear, nn.ConvTranspose2d)):
            fan_in = module.weight[0].numel()
            if isinstance(module, nn.ConvTranspose2d):
                fan_in = module.in_channels
            module.weight.data.normal_(0.0, (2.0 / fan_in) ** 0.5, generator=generator)
            if module.bias is not None:
                module.bias.data.zero_()


@contextmanager
def _batch_norms_calibrated(backbone: nn.Module) -> Iterator[None]:
    """While it lasts, each frozen BatchNorm takes the statistics of its input before it normalises with them."""

    def take_statistics(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        module.running_mean = inputs[0].mean(dim=(0, 2, 3))
        module.running_var = inputs[0].var(dim=(0, 2, 3), unbiased=False)

    norms = [module for module in backbone.modules() if isinstance(module, FrozenBatchNorm2d)]
    hooks = [norm.register_forward_pre_hook(take_statistics) for norm in norms]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _calibrate_rpn(model: MaskRCNN, maps: list[torch.Tensor]) -> None:
    head = model.rpn.head
    hidden = [head.conv(level) for level in maps]
    _spread(head.cls_logits, hidden, OBJECTNESS)
    _spread(head.bbox_pred, hidden, RPN_DELTAS)


def _calibrate_heads(
    model: MaskRCNN, features: dict[str, torch.Tensor], proposals: list[torch.Tensor], sizes: list[tuple[int, int]]
) -> None:
    heads = model.roi_heads
    hidden = heads.box_head(heads.box_roi_pool(features, proposals, sizes))
    _spread(heads.box_predictor.cls_score, [hidden], CLASS_LOGITS)
    _balance_background(heads.box_predictor.cls_score, hidden, heads.score_thresh)
    _spread(heads.box_predictor.bbox_pred, [hidden], BOX_DELTAS)
    few = [boxes[:: max(1, len(boxes) // 50)] for boxes in proposals]
    roi_features = heads.mask_roi_pool(features, few, sizes)
    upsampled: Callable[[torch.Tensor], torch.Tensor] = nn.Sequential(*list(heads.mask_predictor)[:-1])
    fine = upsampled(heads.mask_head(roi_features))
    _spread(heads.mask_predictor.mask_fcn_logits, [fine], MASK_LOGITS)
    if isinstance(heads, MaskScoringRoIHeads):
        masks = heads.mask_predictor.mask_fcn_logits(fine)[:, 1:2].sigmoid()
        _calibrate_mask_iou(heads.mask_iou_head, roi_features, masks)


def _balance_background(layer: nn.Linear, hidden: torch.Tensor, floor: float) -> None:
    """Shift the background logit so that the wanted share of RoIs has a class above the floor."""
    logits = layer(hidden)
    lead = logits[:, 1:].amax(dim=1) - logits[:, 0]
    at_floor = torch.logit(torch.tensor(floor), eps=1e-6)
    layer.bias.data[0] += lead.quantile(1.0 - CANDIDATE_SHARE) - at_floor


def _calibrate_mask_iou(head: MaskIouHead, roi_features: torch.Tensor, masks: torch.Tensor) -> None:
    seen: list[torch.Tensor] = []
    hook = head.mask_iou.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    head(roi_features, masks)
    hook.remove()
    _spread(head.mask_iou, seen, MASK_IOU)


def _spread(layer: nn.Conv2d | nn.Linear, inputs: list[torch.Tensor], wanted: Spread) -> None:
    """Scale and shift each output channel of a layer to the wanted mean and deviation over all inputs."""
    outputs = [layer(value) for value in inputs]
    channels = torch.cat([value.transpose(0, 1).flatten(1) for value in outputs], dim=1)
    deviation, mean = torch.std_mean(channels, dim=1)
    factor = wanted.deviation / deviation.clamp(min=1e-6)
    layer.weight.data *= factor.reshape(-1, *[1] * (layer.weight.dim() - 1))
    assert layer.bias is not None
    layer.bias.data = wanted.mean - mean * factor
