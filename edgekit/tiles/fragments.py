"""Fragments: what a tile saw of a fruit that its border cuts, where the tile beyond the border sees one fruit.

A network is at its worst at the border of a tile: it often finds two or three overlapping fragments of a fruit whose
greater part it cannot see. Only one of them can be linked with the piece of the next tile, since a fruit has one piece
of a tile; the others lie in the fruit that came out.
"""

from __future__ import annotations

from collections.abc import Sequence

from edgekit.masks import intersection_area_px
from edgekit.tiles.group import Link
from edgekit.tiles.keep import Fruit
from edgekit.tiles.pieces import Pieces
from edgekit.tiles.settings import MergeSettings


def absorb_fragments(
    pieces: Pieces, fruit: Sequence[Fruit], unused: Sequence[Link], settings: MergeSettings
) -> list[Fruit]:
    """The fruit that are left when fragments have gone into the fruit they are part of.

    A fruit that no tile saw whole goes into a larger one that holds most of its mask, if a piece of another tile links
    them that is not much weaker: a weak detection takes nothing in.

    Args:
        pieces: what the tiles saw.
        fruit: what grouping made of them.
        unused: links between pieces of different fruit, surest first.
        settings: what "most" and "much weaker" mean.
    """
    number_of = {row: number for number, item in enumerate(fruit) for row in item.rows}
    into = list(range(len(fruit)))
    for link in unused:
        for inner_row, outer_row in ((link.first, link.second), (link.second, link.first)):
            inner, outer = _root(into, number_of[inner_row]), _root(into, number_of[outer_row])
            if inner != outer and _is_fragment(pieces, fruit[inner], fruit[outer], outer_row, settings):
                into[inner] = outer
    rows: list[tuple[int, ...]] = [() for _ in fruit]
    for number, item in sorted(enumerate(fruit), key=lambda numbered: into[numbered[0]] != numbered[0]):
        rows[_root(into, number)] += item.rows
    return [item._replace(rows=rows[number]) for number, item in enumerate(fruit) if into[number] == number]


def _is_fragment(pieces: Pieces, inner: Fruit, outer: Fruit, linked_row: int, settings: MergeSettings) -> bool:
    scores, area_px = pieces.instances.scores, inner.mask.area_px
    if inner.whole or area_px > outer.mask.area_px:
        return False
    if scores[linked_row] < settings.similar_score * scores[inner.rows[0]]:
        return False
    return intersection_area_px(inner.mask, outer.mask) >= settings.min_containment * area_px


def _root(into: Sequence[int], number: int) -> int:
    while into[number] != number:
        number = into[number]
    return number
