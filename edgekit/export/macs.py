"""Multiply-accumulates of a graph, counted on the operators that run. MACs are not FLOPs: one MAC is two of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import onnx

from edgekit.export.tensors import fixed_shapes, shapes_of

COUNTED = ("Conv", "ConvTranspose", "MatMul", "Gemm")
UNCOUNTED = (
    "Einsum",
    "LSTM",
    "GRU",
    "RNN",
    "ConvInteger",
    "MatMulInteger",
    "QLinearConv",
    "QLinearMatMul",
    "Attention",
)
"""Operators that multiply and accumulate and that are not counted here; a graph that has them gets them named."""


@dataclass(frozen=True)
class MacCount:
    """MACs of one call of a graph (all tiles of its batch)."""

    by_part: Mapping[str, int]
    """Part (the first scope of the node names) -> MACs; largest first."""
    unknown: tuple[str, ...]
    """Nodes that are not counted: their operator is not known here, or their shape depends on the data."""

    @property
    def total(self) -> int:
        """All counted MACs."""
        return sum(self.by_part.values())


def count_macs(model: onnx.ModelProto) -> MacCount:
    """Count the MACs of convolutions and matrix products.

    Convolution: output elements x kernel elements of one output channel. Transposed convolution: input elements x
    kernel elements of one input channel. Matrix product: output elements x length of the inner side.

    Args:
        model: a graph; its shapes are inferred.
    """
    fixed = fixed_shapes(shapes_of(model))
    parts: Counter[str] = Counter()
    unknown: list[str] = []
    for node in model.graph.node:
        if node.op_type in UNCOUNTED:
            unknown.append(node.name)
        elif node.op_type in COUNTED:
            macs = _macs(node, fixed)
            if macs is None:
                unknown.append(node.name)
            else:
                parts[part_of(node.name)] += macs
    return MacCount(dict(parts.most_common()), tuple(unknown))


def part_of(node_name: str) -> str:
    """`layers.3` of `/layers.3/conv/Conv`; `(around)` for nodes outside every module."""
    scopes = node_name.strip("/").split("/")
    return scopes[0] if len(scopes) > 1 else "(around)"


def _macs(node: onnx.NodeProto, fixed: Mapping[str, tuple[int, ...]]) -> int | None:
    """MACs of one node; None where a shape is not fixed."""
    first, second, result = (fixed.get(name) for name in (node.input[0], node.input[1], node.output[0]))
    if node.op_type == "Conv" and second and result is not None:
        return prod(result) * prod(second[1:])
    if node.op_type == "ConvTranspose" and second and first is not None:
        return prod(first) * prod(second[1:])
    if node.op_type in ("MatMul", "Gemm") and first and result is not None:
        transposed = any(item.name == "transA" and item.i for item in node.attribute)
        return prod(result) * first[-2 if transposed else -1]
    return None
