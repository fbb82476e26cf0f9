"""What the two reductions of precision share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import onnx


@dataclass(frozen=True)
class ReducedGraph:
    """A graph in reduced precision."""

    model: onnx.ModelProto
    kept: tuple[str, ...]
    """Nodes within the reduced scopes that stayed in higher precision."""


def in_scope(node: onnx.NodeProto, scopes: Iterable[str]) -> bool:
    """Whether a node belongs to one of the modules that may be reduced."""
    return any(node.name.startswith(scope) for scope in scopes)
