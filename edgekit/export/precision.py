"""What the two reductions of precision share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import onnx


@dataclass(frozen=True)
class Scopes:
    """Which parts of a graph may be reduced, as prefixes of node names: the scopes of the modules they come from."""

    reduced: tuple[str, ...] = ()
    """May run in fp16 or int8. Box arithmetic, softmax over classes, LayerNorm and NMS belong outside."""
    sensitive: tuple[str, ...] = ()
    """Among those, what loses too much in int8; fp16 takes it."""


@dataclass(frozen=True)
class ReducedGraph:
    """A graph in reduced precision."""

    model: onnx.ModelProto
    kept: tuple[str, ...]
    """Nodes within the reduced scopes that stayed in higher precision."""


def in_scope(node: onnx.NodeProto, scopes: Iterable[str]) -> bool:
    """Whether a node belongs to one of the modules that may be reduced."""
    return any(node.name.startswith(scope) for scope in scopes)
