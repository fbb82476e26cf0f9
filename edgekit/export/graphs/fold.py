"""Frozen BatchNorms folded into the convolutions before them."""

from __future__ import annotations

from torch import nn
from torchvision.models.resnet import Bottleneck
from torchvision.ops import FrozenBatchNorm2d


def fold_batch_norms(body: nn.Module) -> None:
    """Fold every frozen BatchNorm of a ResNet body into its convolution, in place.

    Done here and not left to the runtimes, so that all precisions and targets start from the same numbers.

    Args:
        body: a torchvision ResNet, or the part of one that `IntermediateLayerGetter` keeps.
    """
    for module in body.modules():
        for number in (1, 2, 3):
            _fold(module, f"conv{number}", f"bn{number}")
        if isinstance(module, Bottleneck) and module.downsample is not None:
            _fold(module.downsample, "0", "1")


def _fold(parent: nn.Module, conv_name: str, norm_name: str) -> None:
    conv, norm = getattr(parent, conv_name, None), getattr(parent, norm_name, None)
    if not isinstance(conv, nn.Conv2d) or not isinstance(norm, FrozenBatchNorm2d):
        return
    gain = norm.weight.double() * (norm.running_var.double() + norm.eps).rsqrt()
    bias = norm.bias.double() - norm.running_mean.double() * gain
    if conv.bias is not None:
        bias = bias + conv.bias.double() * gain
    conv.weight = nn.Parameter((conv.weight.double() * gain[:, None, None, None]).float(), requires_grad=False)
    conv.bias = nn.Parameter(bias.float(), requires_grad=False)
    setattr(parent, norm_name, nn.Identity())
