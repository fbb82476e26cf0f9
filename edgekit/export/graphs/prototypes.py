"""Ultralytics' mask prototypes with less arithmetic: the upsampling is folded into the convolution behind it."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

PHASES = ((0, 0), (0, 1), (1, 0), (1, 1))
"""Row and column of each output pixel within its input cell."""
BORDER_CHANNELS = 8
"""One channel that is 1 on the map and 0 beyond it, and as many empty ones as convolutions on CPUs work on at once."""
SILU_OF_ONE = 1.2784645427610738
"""SiLU of it is 1."""


def can_fold(proto: nn.Module) -> bool:
    """Whether a prototype module is the plain one: convolution, 2 x 2 upsampling, 3 x 3 convolution, 1 x 1."""
    from ultralytics.nn.modules.block import Proto
    from ultralytics.nn.modules.conv import Conv

    if type(proto) is not Proto or not all(type(layer) is Conv for layer in _layers(proto)):
        return False
    parts: Any = proto
    up, conv = parts.upsample, parts.cv2.conv
    return (
        isinstance(up, nn.ConvTranspose2d)
        and (up.kernel_size, up.stride, up.padding, up.groups) == ((2, 2), (2, 2), (0, 0), 1)
        and (conv.kernel_size, conv.stride, conv.padding, conv.groups) == ((3, 3), (1, 1), (1, 1), 1)
        and (parts.cv3.conv.kernel_size, parts.cv3.conv.groups) == ((1, 1), 1)
        and all(isinstance(layer.act, nn.SiLU) and layer.conv.bias is not None for layer in _layers(parts))
    )


class FoldedPrototypes(nn.Module):
    """What `Proto` computes, with 0.30 instead of 0.67 GMAC for 64 channels on 128 x 128 pixels.

    Each cell becomes 2 x 2 pixels, and the 3 x 3 neighbours of a pixel lie in 2 x 2 cells. Upsampling and convolution
    are both linear, so that for each of the four pixels of a cell (its phase) they are one 2 x 2 convolution of cells.
    The upsampling's bias ends where the map ends, so that it enters as a channel of ones.

    Args:
        proto: one that `can_fold` accepts, its BatchNorms fused.
    """

    def __init__(self, proto: nn.Module) -> None:
        super().__init__()
        first, _, third = _layers(proto)
        with torch.no_grad():
            self.cv1 = _with_ones(first.conv)
            self.cv2 = _phases(proto)
            self.cv3 = _grouped(third.conv, len(PHASES))
        self.act = nn.SiLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """B x C x h x w to prototypes by phase, B x P x 4 x h x w; `interleave` brings masks made of them in order."""
        height, width = (int(length) for length in x.shape[-2:])
        drawn = self.act(self.cv3(self.act(self.cv2(self.act(self.cv1(x))))))
        planes = [
            group[:, :, row : row + height, column : column + width]
            for (row, column), group in zip(PHASES, drawn.chunk(len(PHASES), dim=1), strict=True)
        ]
        return torch.stack(planes, dim=2)


def interleave(planes: torch.Tensor) -> torch.Tensor:
    """Pixels by phase, N x 4 x h x w, to pixels in order, N x 1 x 2 h x 2 w.

    Of few masks in eight bits that is cheaper than of all prototypes.
    """
    return nn.functional.pixel_shuffle(planes, 2)


def frame_of(prototypes: torch.Tensor) -> tuple[int, int]:
    """Height and width of prototypes, in order (B x P x h x w) or by phase."""
    height, width = (int(length) for length in prototypes.shape[-2:])
    return (2 * height, 2 * width) if prototypes.dim() == 5 else (height, width)


def _layers(proto: Any) -> tuple[Any, Any, Any]:
    return proto.cv1, proto.cv2, proto.cv3


def _with_ones(conv: Any) -> nn.Conv2d:
    """The convolution with further outputs that are 1 (the first of them) and 0 behind SiLU."""
    wider = nn.Conv2d(
        conv.in_channels, conv.out_channels + BORDER_CHANNELS, conv.kernel_size, conv.stride, conv.padding
    )
    assert wider.bias is not None
    wider.weight.zero_()
    wider.bias.zero_()
    wider.weight[: conv.out_channels] = conv.weight
    wider.bias[: conv.out_channels] = conv.bias
    wider.bias[conv.out_channels] = SILU_OF_ONE
    return wider


def _phases(proto: Any) -> nn.Conv2d:
    """Upsampling and convolution as one 2 x 2 convolution over cells, with the outputs of the four phases in turn.

    Padded by one cell, its output i sees the cells i - 1 and i. The pixel at offset u - 1 from row r of cell i lies in
    cell i + (r + u - 1) // 2, there at row (r + u - 1) % 2. So r = 0 finds its cells at output i, r = 1 at i + 1.
    """
    up, conv = proto.upsample, proto.cv2.conv
    phases = nn.Conv2d(up.in_channels + BORDER_CHANNELS, len(PHASES) * conv.out_channels, 2, padding=1)
    assert phases.bias is not None
    phases.weight.zero_()
    phases.bias.copy_(conv.bias.repeat(len(PHASES)))
    bias = torch.zeros(BORDER_CHANNELS, up.out_channels)
    if up.bias is not None:
        bias[0] = up.bias
    for (row, column), kernel in zip(PHASES, phases.weight.chunk(len(PHASES)), strict=True):
        for u in range(3):
            for v in range(3):
                down, right = row + u - 1, column + v - 1
                enlarged = torch.cat([up.weight[:, :, down % 2, right % 2], bias])
                kernel[:, :, down // 2 + 1 - row, right // 2 + 1 - column] += conv.weight[:, :, u, v] @ enlarged.T
    return phases


def _grouped(conv: Any, groups: int) -> nn.Conv2d:
    """The same convolution for each group of channels."""
    many = nn.Conv2d(groups * conv.in_channels, groups * conv.out_channels, conv.kernel_size, groups=groups)
    assert many.bias is not None
    many.weight.copy_(conv.weight.repeat(groups, 1, 1, 1))
    many.bias.copy_(conv.bias.repeat(groups))
    return many
