"""Swin Transformer v2 for one picture size: the same maps as torchvision's, without anything computed from shapes.

torchvision works out padding, shifts, attention masks and position biases anew in every call, and a trace records all
of it. Sizes are known here, so those are constants, and a block is some forty operators.
"""

from __future__ import annotations

import math
from collections import OrderedDict

import torch
from torch import nn
from torchvision.models.swin_transformer import (
    PatchMergingV2,
    ShiftedWindowAttentionV2,
    SwinTransformerBlockV2,
)

from edgekit.export.models.mask_rcnn_sw import STAGES, SwinFpnBackbone

PATCH_PX = 4
LARGEST_LOGIT_SCALE = 100.0
SMALLEST_NORM = 1e-6
"""torchvision has 1e-12, which is 0 in half precision, where the keys of padding, all zero, would become NaN."""
MASKED = -100.0
"""torchvision's addition to the logit of a pair that the shift brought together."""


class StaticSwinFpn(nn.Module):
    """A `SwinFpnBackbone` for pictures of one size. Shares its parameters.

    Args:
        backbone: torchvision's blocks and pyramid.
        size_px: side of the pictures, a multiple of 32.
        batch: number of pictures.
    """

    def __init__(self, backbone: SwinFpnBackbone, *, size_px: int, batch: int) -> None:
        super().__init__()
        features = backbone.body.features
        self.embed = features[0]
        stages: list[nn.Module] = []
        side = size_px // PATCH_PX
        for part in list(features)[1:]:
            if isinstance(part, PatchMergingV2):
                stages.append(StaticMerging(part, side))
                side = (side + 1) // 2
            else:
                stages.append(nn.Sequential(*[StaticBlock(block, side, batch) for block in part]))
        self.stages = nn.ModuleList(stages)
        self.fpn = backbone.fpn

    def forward(self, images: torch.Tensor) -> OrderedDict[str, torch.Tensor]:
        """Images (batch x 3 x size x size) to the pyramid's maps, `0` to `3` and `pool`."""
        maps: OrderedDict[str, torch.Tensor] = OrderedDict()
        current = self.embed(images)
        for number, stage in enumerate(self.stages, start=1):
            current = stage(current)
            if number in STAGES:
                maps[str(len(maps))] = current.permute(0, 3, 1, 2)
        pyramid: OrderedDict[str, torch.Tensor] = self.fpn(maps)
        return pyramid


class StaticBlock(nn.Module):
    """Attention and perceptron, each with its norm behind it (Liu et al. 2022, figure 1)."""

    def __init__(self, block: SwinTransformerBlockV2, side: int, batch: int) -> None:
        super().__init__()
        self.attention = StaticAttention(block.attn, side, batch)
        self.norm1 = block.norm1
        self.mlp = block.mlp
        self.norm2 = block.norm2

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """batch x side x side x channels to the same."""
        x = x + self.norm1(self.attention(x))
        refined: torch.Tensor = x + self.norm2(self.mlp(x))
        return refined


class StaticMerging(nn.Module):
    """Four neighbours to one cell of twice the channels; an odd side is padded with zeros."""

    def __init__(self, merging: PatchMergingV2, side: int) -> None:
        super().__init__()
        self.odd = side % 2
        self.reduction = merging.reduction
        self.norm = merging.norm

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """batch x side x side x C to batch x side / 2 x side / 2 x 2 C, rounded up."""
        if self.odd:
            x = nn.functional.pad(x, (0, 0, 0, 1, 0, 1))
        corners = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
        merged: torch.Tensor = self.norm(self.reduction(torch.cat(corners, dim=-1)))
        return merged


class StaticAttention(nn.Module):
    """Cosine attention in (shifted) windows, with everything that does not depend on the picture made beforehand.

    Args:
        attention: torchvision's.
        side: of the map, in cells.
        batch: number of pictures.
    """

    bias: torch.Tensor
    gain: torch.Tensor
    apart: torch.Tensor

    def __init__(self, attention: ShiftedWindowAttentionV2, side: int, batch: int) -> None:
        super().__init__()
        self.window = int(attention.window_size[0])
        self.heads = int(attention.num_heads)
        self.batch, self.side = batch, side
        self.padded = -(-side // self.window) * self.window
        self.shift = int(attention.shift_size[0]) if self.padded > self.window else 0
        self.qkv = _without_key_bias(attention.qkv)
        self.proj = attention.proj
        with torch.no_grad():
            self.register_buffer("bias", attention.get_relative_position_bias().clone())
            self.register_buffer("gain", attention.logit_scale.clamp(max=math.log(LARGEST_LOGIT_SCALE)).exp())
        if self.shift:
            self.register_buffer("apart", shift_mask(self.padded, self.window, self.shift).repeat(batch, 1, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """batch x side x side x channels to the same."""
        more = self.padded - self.side
        if more:
            x = nn.functional.pad(x, (0, 0, 0, more, 0, more))
        if self.shift:
            x = torch.roll(x, shifts=(-self.shift, -self.shift), dims=(1, 2))
        x = self._join(self._attend(self._split(x)))
        if self.shift:
            x = torch.roll(x, shifts=(self.shift, self.shift), dims=(1, 2))
        return x[:, : self.side, : self.side] if more else x

    def _attend(self, tokens: torch.Tensor) -> torch.Tensor:
        """windows x cells x channels to the same."""
        cells, channels = self.window**2, self.qkv.out_features // 3
        parts = self.qkv(tokens).reshape(-1, cells, 3, self.heads, channels // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = parts[0], parts[1], parts[2]
        logits = _unit(q) @ _unit(k).transpose(-2, -1) * self.gain + self.bias
        if self.shift:
            logits = logits + self.apart
        mixed = logits.softmax(dim=-1) @ v
        projected: torch.Tensor = self.proj(mixed.transpose(1, 2).reshape(-1, cells, channels))
        return projected

    def _split(self, x: torch.Tensor) -> torch.Tensor:
        number, window = self.padded // self.window, self.window
        x = x.reshape(self.batch, number, window, number, window, -1).permute(0, 1, 3, 2, 4, 5)
        return x.reshape(self.batch * number**2, window**2, -1)

    def _join(self, windows: torch.Tensor) -> torch.Tensor:
        number, window = self.padded // self.window, self.window
        x = windows.reshape(self.batch, number, number, window, window, -1).permute(0, 1, 3, 2, 4, 5)
        return x.reshape(self.batch, self.padded, self.padded, -1)


def shift_mask(side: int, window: int, shift: int) -> torch.Tensor:
    """What the logits of each window get added, so that cells which only the cyclic shift made neighbours stay apart.

    Returns:
        float32, windows x 1 x cells x cells; 0 or `MASKED`.
    """
    stripe = torch.zeros(side)
    stripe[side - window : side - shift] = 1.0
    stripe[side - shift :] = 2.0
    region = stripe[:, None] * 3.0 + stripe[None, :]
    number = side // window
    region = region.reshape(number, window, number, window).transpose(1, 2).reshape(number**2, window**2)
    apart = (region[:, :, None] != region[:, None, :]).to(torch.float32) * MASKED
    return apart.unsqueeze(1)


def _without_key_bias(qkv: nn.Linear) -> nn.Linear:
    """A copy of the projection whose keys have no bias: Swin v2 ignores it."""
    copied = nn.Linear(qkv.in_features, qkv.out_features)
    copied.load_state_dict(qkv.state_dict())
    third = qkv.out_features // 3
    copied.bias.data[third : 2 * third] = 0.0
    return copied


def _unit(x: torch.Tensor) -> torch.Tensor:
    """Vectors of length 1 along the last dimension."""
    length: torch.Tensor = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return x / length.clamp(min=SMALLEST_NORM)
