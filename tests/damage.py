"""Files that somebody edited by hand: every value of a document, one after the other, with another type."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

WRONG: tuple[Any, ...] = ("x", "", -3, 0.5, True, None, [], [None], {}, {"x": None}, 10**400)
ITEMS_TRIED = 2
"""Of a list or a mapping of many alike: what is read of one is read of all."""


def edited(document: Any, *, items: int = ITEMS_TRIED) -> Iterator[tuple[str, Any]]:
    """The place of each value that was changed or taken away, and the document with it so."""
    for path in _paths(document, items):
        for wrong in WRONG:
            yield f"{path} = {str(wrong)[:20]!r}", _with(document, path, wrong)
        yield f"{path} taken away", _without(document, path)


def _paths(value: Any, items: int) -> Iterator[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value[:items]) if isinstance(value, list) else ()
    for key, item in inside:
        yield (key,)
        yield from ((key, *rest) for rest in _paths(item, items))


def _with(document: Any, path: tuple[Any, ...], wrong: Any) -> Any:
    changed = copy.deepcopy(document)
    _holder(changed, path)[path[-1]] = wrong
    return changed


def _without(document: Any, path: tuple[Any, ...]) -> Any:
    changed = copy.deepcopy(document)
    del _holder(changed, path)[path[-1]]
    return changed


def _holder(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        document = document[key]
    return document
