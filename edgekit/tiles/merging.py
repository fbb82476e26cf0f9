"""From the detections of all tiles to fruit, each counted once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.contracts import BoolPlane, Instances, TileSpec
from edgekit.tiles.confirm import Views, is_confirmed
from edgekit.tiles.fragments import absorb_fragments
from edgekit.tiles.group import group_pieces, links_by_row
from edgekit.tiles.keep import Fruit, settle_fruit
from edgekit.tiles.pieces import Pieces, gather_pieces, seen_xyxy
from edgekit.tiles.settings import MergeSettings

Members = tuple[tuple[int, int], ...]
"""Detections as (tile number, row in the tile's result)."""


@dataclass(frozen=True, eq=False)
class Merged:
    """The fruit of a panorama, from left to right. A threshold acts on their scores, after merging."""

    instances: Instances
    """In panorama pixels."""
    members: tuple[Members, ...]
    """For each fruit the detections it was made of. The first is the one that was kept (the largest, where pieces were
    joined): the fruit has its score and its class."""
    whole: BoolPlane
    """bool, N; True where a tile saw the fruit whole; the others are joined of pieces, or cut."""
    cut: BoolPlane
    """bool, N; True where the fruit's mask ends at a tile's border, because no tile that looks beyond the border saw
    the fruit. The edge of the panorama does not count: there is no more to be seen."""
    unconfirmed: Members
    """Cut detections that became no fruit, since a tile that sees the whole place saw nothing there."""

    def __len__(self) -> int:
        return len(self.instances)

    def count(self, threshold: float) -> int:
        """Number of fruit whose score is at least `threshold`."""
        return int(np.count_nonzero(self.instances.scores >= np.float32(threshold)))


def merge(
    specs: Sequence[TileSpec],
    results: Sequence[Instances],
    size_wh: tuple[int, int],
    settings: MergeSettings,
    *,
    looks: Sequence[tuple[TileSpec, Instances]] = (),
) -> Merged:
    """Merge what the tiles saw, once, all detections above the model's score floor.

    The result does not depend on the order of tiles. The cost grows linearly with the panorama.

    Args:
        specs: where the tiles lie; any order, each number once.
        results: what was found in each of them, in tile pixels.
        size_wh: width and height of the panorama in pixels; what lies beyond is clipped, then dropped.
        settings: when two detections are one fruit, and which of them is kept.
        looks: extra tiles (see `second_look`) and what was found in them. Only what they see whole is used, since the
            other tiles have seen the rest already.

    Raises:
        ValueError: as many specs as results are needed; this is a bug of the caller.
    """
    first_look = len(specs)
    specs, results = [*specs, *(spec for spec, _ in looks)], [*results, *(found for _, found in looks)]
    pieces = gather_pieces(specs, results, size_wh, settings.border_px)
    pieces = pieces.select((pieces.tile < first_look) | ~pieces.cut)
    grouping = group_pieces(pieces, settings)
    settled = [settle_fruit(pieces, rows, settings) for rows in grouping.groups]
    fruit = absorb_fragments(pieces, settled, grouping.unused, settings)
    views = Views(seen_xyxy(specs, size_wh), size_wh, settings.border_px)
    linked = links_by_row(grouping.unused)
    confirmed = [is_confirmed(pieces, item, [j for i in item.rows for j in linked[i]], views) for item in fruit]
    return _merged(specs, pieces, fruit, confirmed)


def _merged(specs: Sequence[TileSpec], pieces: Pieces, fruit: Sequence[Fruit], confirmed: Sequence[bool]) -> Merged:
    kept = [item for item, sure in zip(fruit, confirmed, strict=True) if sure]
    dropped = sorted(row for item, sure in zip(fruit, confirmed, strict=True) if not sure for row in item.rows)
    kept.sort(key=lambda item: (float(item.box_xyxy[0]), float(item.box_xyxy[1]), item.rows[0]))
    leaders = [item.rows[0] for item in kept]
    instances = Instances(
        np.array([item.box_xyxy for item in kept], np.float32).reshape(-1, 4),
        pieces.instances.scores[leaders],
        pieces.instances.labels[leaders],
        tuple(item.mask for item in kept),
    )
    return Merged(
        instances=instances,
        members=tuple(_members(specs, pieces, item.rows) for item in kept),
        whole=np.array([item.whole for item in kept], np.bool_),
        cut=np.array([item.cut for item in kept], np.bool_),
        unconfirmed=_members(specs, pieces, dropped),
    )


def _members(specs: Sequence[TileSpec], pieces: Pieces, rows: Sequence[int]) -> Members:
    return tuple((specs[int(pieces.tile[row])].number, int(pieces.row[row])) for row in rows)
