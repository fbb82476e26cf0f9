"""From the detections of all tiles to fruit, each counted once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.contracts import BoolPlane, Instances, TileSpec
from edgekit.tiles.group import group_pieces
from edgekit.tiles.keep import Fruit, settle_fruit
from edgekit.tiles.pieces import Pieces, gather_pieces
from edgekit.tiles.settings import MergeSettings


@dataclass(frozen=True, eq=False)
class Merged:
    """The fruit of a panorama, from left to right. A threshold acts on their scores, after merging."""

    instances: Instances
    """In panorama pixels."""
    members: tuple[tuple[tuple[int, int], ...], ...]
    """For each fruit the detections it was made of, as (tile number, row in the tile's result). The first is the one
    that was kept (the largest, where pieces were joined): the fruit has its score and its class."""
    cut: BoolPlane
    """bool, N; True where the fruit's mask ends at a tile's border, because no tile that looks beyond the border saw
    the fruit. The edge of the panorama does not count: there is no more to be seen."""

    def __len__(self) -> int:
        return len(self.instances)

    def count(self, threshold: float) -> int:
        """Number of fruit whose score is at least `threshold`."""
        return int(np.count_nonzero(self.instances.scores >= np.float32(threshold)))


def merge(
    specs: Sequence[TileSpec], results: Sequence[Instances], size_wh: tuple[int, int], settings: MergeSettings
) -> Merged:
    """Merge what the tiles saw. Run it once, on all detections above the model's score floor.

    The result does not depend on the order of tiles. The cost grows linearly with the panorama.

    Args:
        specs: where the tiles lie; any order, each place once.
        results: what was found in each of them, in tile pixels.
        size_wh: width and height of the panorama in pixels; what lies beyond is clipped, then dropped.
        settings: when two detections are one fruit, and which of them is kept.

    Raises:
        ValueError: as many specs as results are needed; this is a bug of the caller.
    """
    pieces = gather_pieces(specs, results, size_wh, settings.border_px)
    groups = group_pieces(pieces, settings)
    fruit = [settle_fruit(pieces, rows, settings) for rows in groups]
    return _merged(specs, pieces, groups, fruit)


def _merged(
    specs: Sequence[TileSpec], pieces: Pieces, groups: Sequence[Sequence[int]], fruit: Sequence[Fruit]
) -> Merged:
    if not fruit:
        return Merged(Instances.empty(), (), np.zeros(0, np.bool_))
    boxes = np.stack([item.box_xyxy for item in fruit])
    order = np.lexsort((np.arange(len(fruit)), boxes[:, 1], boxes[:, 0]))
    leaders = np.array([fruit[i].leader for i in order])
    instances = Instances(
        boxes[order],
        pieces.instances.scores[leaders],
        pieces.instances.labels[leaders],
        tuple(fruit[i].mask for i in order),
    )
    members = tuple(_members(specs, pieces, groups[i], fruit[i].leader) for i in order)
    return Merged(instances, members, np.array([fruit[i].cut for i in order], np.bool_))


def _members(
    specs: Sequence[TileSpec], pieces: Pieces, rows: Sequence[int], leader: int
) -> tuple[tuple[int, int], ...]:
    ordered = [leader, *(row for row in rows if row != leader)]
    return tuple((specs[int(pieces.tile[row])].number, int(pieces.row[row])) for row in ordered)
