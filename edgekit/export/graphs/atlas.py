"""The pyramid's four levels on one canvas, so that a RoI of any level is one place on one map.

    +----------+------------------+
    | P3       |                  |
    |          |   P2             |
    +----+-----+                  |
    | P4 |     |                  |
    +--+-+     |                  |
    |P5|       |                  |
    +--+-------+------------------+

P2 ends where the canvas ends, at the right and at the bottom: beyond it RoIAlign gives zero, as it does beyond a level
of its own. Only P2 needs that: RoIs are clipped to the picture, so that no sample lies beyond a level unless the RoI is
under one cell wide and gets stretched to one, and such a RoI belongs to P2 in pictures up to `LARGEST_SIDE_PX` (level k
has boxes of at least (224 * 2**(k - 4))**2 square pixels, cells of 2**k). The other levels are followed by a repeated
column and row, which stand for the level's own edge, to which RoIAlign clamps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from edgekit.export.graphs.boxes import area
from edgekit.export.graphs.sizes import sizes

LARGEST_SIDE_PX = 1536
"""A RoI on P3 under one 8 px cell wide would have to be 112**2 / 8 = 1568 px long."""
LEVELS = 4
FINEST = 2
"""P2: stride 4."""
CANONICAL_SIDE_PX = 224.0
CANONICAL_LEVEL = 4
LEVEL_SLACK = 1e-6
"""torchvision adds it to the logarithm, so that a RoI of exactly 224 px lies on P4."""


class Places(NamedTuple):
    """Where RoIs lie: their level's scale, its place on the canvas, and its side, N each, float32."""

    scale: torch.Tensor
    left: torch.Tensor
    top: torch.Tensor
    side: torch.Tensor


class Layout(NamedTuple):
    """Geometry of an atlas, in cells; index 0 is P2."""

    sides: tuple[int, ...]
    lefts: tuple[int, ...]
    tops: tuple[int, ...]
    width: int
    height: int

    @classmethod
    def of(cls, sides: Sequence[int]) -> Layout:
        """Lay out levels of these sides, finest first."""
        column = sides[1] + 1
        stack = sum(side + 1 for side in sides[1:])
        height = max(sides[0], stack)
        tops = [sum(side + 1 for side in sides[1:level]) for level in range(1, len(sides))]
        lefts = (column, *[0] * (len(sides) - 1))
        return cls(tuple(sides), lefts, (height - sides[0], *tops), column + sides[0], height)


def pack(maps: Sequence[torch.Tensor], layout: Layout) -> torch.Tensor:
    """Levels P2 to P5 (B x C x side x side) to the canvas: B x C x height x width; what is between them is zero."""
    pad = torch.nn.functional.pad
    rows = []
    for level in maps[1:]:
        wide = torch.cat([level, level[..., -1:]], dim=3)
        tall = torch.cat([wide, wide[:, :, -1:]], dim=2)
        rows.append(pad(tall, (0, layout.lefts[0] - sizes(tall)[3], 0, 0)))
    column = torch.cat(rows, dim=2)
    column = pad(column, (0, 0, 0, layout.height - sizes(column)[2]))
    finest = pad(maps[0], (0, 0, layout.height - sizes(maps[0])[2], 0))
    return torch.cat([column, finest], dim=3)


def places(rois: torch.Tensor, layout: Layout) -> Places:
    """The level of each RoI (Lin et al. 2017, equation 1, as in torchvision's `LevelMapper`) and where it lies.

    Args:
        rois: float32, N x 4, xyxy in pixels.
        layout: of the canvas.
    """
    side = area(rois).clamp(min=0.0).sqrt()
    limits = [
        CANONICAL_SIDE_PX * 2.0 ** (level - CANONICAL_LEVEL - LEVEL_SLACK)
        for level in range(FINEST + 1, FINEST + LEVELS)
    ]
    level = (side.unsqueeze(1) >= torch.tensor(limits)).to(torch.int64).sum(dim=1)
    scales = [2.0 ** -(FINEST + number) for number in range(LEVELS)]
    columns = (scales, layout.lefts, layout.tops, layout.sides)
    return Places(*(torch.tensor(column, dtype=torch.float32)[level] for column in columns))
