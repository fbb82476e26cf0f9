"""Which pieces are one fruit: links between pieces that agree, the surest first, never two pieces of one tile."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from edgekit.tiles.neighbours import Agreement, agreement, neighbour_pairs
from edgekit.tiles.pieces import Pieces
from edgekit.tiles.settings import MergeSettings


class Link(NamedTuple):
    """Two pieces that may be one fruit. Links sort by how sure they are, ties by the order of the pieces."""

    other_class: bool
    doubt: float
    first: int
    second: int


@dataclass(frozen=True, eq=False)
class Grouping:
    """Pieces by fruit, and the links that were left over."""

    groups: list[list[int]]
    """Rows of the pieces of each fruit, ascending, so that the piece with the best score comes first."""
    unused: list[Link]
    """Links between pieces of different groups, surest first: joining them would have put two pieces of one tile
    into one fruit, or contradicted a better piece."""


def group_pieces(pieces: Pieces, settings: MergeSettings) -> Grouping:
    """Join what agrees."""
    groups = _Groups(pieces, settings)
    links = _links(pieces, settings)
    for link in links:
        groups.join(link.first, link.second)
    return Grouping(groups.members(), [link for link in links if not groups.together(link.first, link.second)])


def links_by_row(links: Sequence[Link]) -> defaultdict[int, list[int]]:
    """The pieces that each piece is linked with."""
    linked: defaultdict[int, list[int]] = defaultdict(list)
    for link in links:
        linked[link.first].append(link.second)
        linked[link.second].append(link.first)
    return linked


def agrees(found: Agreement, settings: MergeSettings) -> bool:
    """Whether two tiles mean the same fruit: masks that are alike in the strip, or one that lies in the other."""
    return found.iou >= settings.min_agreement or found.containment >= settings.min_containment


def _links(pieces: Pieces, settings: MergeSettings) -> list[Link]:
    labels = pieces.instances.labels.tolist()
    links = []
    for i, j in neighbour_pairs(pieces).tolist():
        other_class = labels[i] != labels[j]
        if other_class and not settings.across_classes:
            continue
        found = agreement(pieces, i, j)
        if found is not None and agrees(found, settings):
            links.append(Link(other_class, 1 - found.iou, i, j))
    return sorted(links)


class _Groups:
    """Disjoint sets of pieces with at most one piece of a tile."""

    def __init__(self, pieces: Pieces, settings: MergeSettings) -> None:
        self._pieces = pieces
        self._settings = settings
        self._tile: list[int] = pieces.tile.tolist()
        self._scores: list[float] = pieces.instances.scores.tolist()
        self._rows = [[row] for row in range(len(pieces))]

    def join(self, i: int, j: int) -> None:
        """Make one group of those of i and j, where that is allowed."""
        one, other = self._rows[i], self._rows[j]
        if one is other or not {self._tile[row] for row in one}.isdisjoint(self._tile[row] for row in other):
            return
        if not self._leaders_allow(i, j):
            return
        joined = sorted(one + other)
        for row in joined:
            self._rows[row] = joined

    def together(self, i: int, j: int) -> bool:
        """Whether i and j are in one group."""
        return self._rows[i] is self._rows[j]

    def members(self) -> list[list[int]]:
        """Every group once, by its first row."""
        return [rows for row, rows in enumerate(self._rows) if rows[0] == row]

    def _leaders_allow(self, i: int, j: int) -> bool:
        """Whether the best pieces of both groups agree, or, where no tile can tell, the link is no weaker than they."""
        first, second = self._rows[i][0], self._rows[j][0]
        if {first, second} == {i, j}:
            return True
        found = agreement(self._pieces, first, second)
        if found is not None and found.first + found.second:
            return agrees(found, self._settings)
        weaker = min(self._scores[first], self._scores[second])
        return min(self._scores[i], self._scores[j]) >= self._settings.similar_score * weaker
