"""Ultralytics' C2f and C3k2 blocks with their first convolution as two, one for each half of its channels.

ONNX Runtime's CPU provider keeps channels in blocks from one convolution to the next, but splits maps in plain order
alone, so that a block that splits its first map has it brought into plain order and back.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


def halve_blocks(layers: nn.Sequential) -> nn.Sequential:
    """The same layers with the plain C2f and C3k2 blocks among them replaced; weights are copied.

    Args:
        layers: of an Ultralytics model, their BatchNorms fused.
    """
    return nn.Sequential(*(HalvedC2f(layer) if can_halve(layer) else layer for layer in layers))


def can_halve(block: nn.Module) -> bool:
    """Whether a block computes what C2f does, from a fused convolution."""
    from ultralytics.nn.modules.block import C2f
    from ultralytics.nn.modules.conv import Conv

    if type(block).forward is not C2f.forward:
        return False
    first: Any = block.cv1
    return type(first) is Conv and first.conv.groups == 1 and first.conv.bias is not None


class HalvedC2f(nn.Module):
    """What C2f computes.

    Args:
        block: one that `can_halve` accepts.
    """

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        parts: Any = block
        self.f = parts.f
        half = parts.cv1.conv.out_channels // 2
        channels = (slice(0, half), slice(half, 2 * half))
        self.first = nn.ModuleList(nn.Sequential(_part(parts.cv1.conv, part), parts.cv1.act) for part in channels)
        self.m = parts.m
        self.cv2 = parts.cv2

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """B x C x h x w to the block's own number of channels."""
        maps = [half(x) for half in self.first]
        for inner in self.m:
            maps.append(inner(maps[-1]))
        joined: torch.Tensor = self.cv2(torch.cat(maps, dim=1))
        return joined


@torch.no_grad()
def _part(conv: nn.Conv2d, channels: slice) -> nn.Conv2d:
    """The convolution for some of its output channels."""
    assert conv.bias is not None
    part = nn.Conv2d(conv.in_channels, len(conv.bias[channels]), conv.kernel_size, conv.stride, conv.padding)  # type: ignore[arg-type]
    assert part.bias is not None
    part.weight.copy_(conv.weight[channels])
    part.bias.copy_(conv.bias[channels])
    return part
