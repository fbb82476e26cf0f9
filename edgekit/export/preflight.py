"""What TensorRT would refuse, said with node names before a build of twenty minutes."""

from __future__ import annotations

from collections.abc import Iterable

import onnx
from onnx import TensorProto

from edgekit.export.tensors import fixed_shapes, shapes_of

DATA_DEPENDENT = frozenset(("NonZero", "NonMaxSuppression", "Unique", "Compress", "StringNormalizer"))
"""Operators whose output has as many rows as the data wants."""
UNSUPPORTED = frozenset(
    [
        "SequenceConstruct",
        "SequenceAt",
        "SequenceInsert",
        "ConcatFromSequence",
        "SplitToSequence",
        "DynamicQuantizeLinear",
        "ConvInteger",
        "MatMulInteger",
        "QLinearConv",
        "QLinearMatMul",
        "Det",
        "MaxRoiPool",
        "Optional",
        "StringConcat",
    ]
)
"""Operators that TensorRT's parser does not know (operators.md of onnx-tensorrt 10.3)."""
SHAPE_INPUTS = {
    "Reshape": (1,), "Expand": (1,), "Slice": (1, 2, 3, 4), "Pad": (1,), "Tile": (1,), "TopK": (1,), "Range": (0, 1, 2),
    "ConstantOfShape": (0,), "Resize": (2, 3), "OneHot": (1,), "Split": (1,), "CenterCropPad": (1,),
}  # fmt: skip
"""Inputs that decide on an output's shape."""
ENDS_ONLY = (TensorProto.UINT8,)
"""Types that TensorRT takes at the inputs and outputs of a graph, in casts, and nowhere between."""


def preflight(model: onnx.ModelProto) -> list[str]:
    """Remarks on nodes that TensorRT would refuse or handle badly, a line each; empty where there are none.

    Args:
        model: a graph; its shapes are inferred.
    """
    fixed = frozenset(fixed_shapes(shapes_of(model)))
    static = static_tensors(model.graph, fixed)
    remarks = [f"input {item.name!r} has no fixed shape" for item in model.graph.input if item.name not in fixed]
    for node in model.graph.node:
        remarks += [f"{node.op_type} {node.name!r}: {reason}" for reason in _reasons(node, static)]
    return remarks + _uint8_between(model)


def static_tensors(graph: onnx.GraphProto, fixed: frozenset[str]) -> set[str]:
    """Names of the tensors whose values are known before any data is: constants, fixed shapes, and what follows."""
    known = {tensor.name for tensor in graph.initializer} | {""}
    for node in graph.node:
        if node.op_type == "Shape":
            certain = node.input[0] in fixed
        else:
            certain = node.op_type not in DATA_DEPENDENT and all(name in known for name in node.input)
        if certain:
            known.update(node.output)
    return known


def _reasons(node: onnx.NodeProto, static: set[str]) -> Iterable[str]:
    if node.op_type in UNSUPPORTED or node.domain not in ("", "ai.onnx"):
        yield f"TensorRT has no such operator{f' ({node.domain})' if node.domain else ''}"
    if node.op_type in DATA_DEPENDENT:
        yield "its number of rows depends on the data"
    for index in SHAPE_INPUTS.get(node.op_type, ()):
        if index < len(node.input) and node.input[index] not in static:
            what = "K" if node.op_type == "TopK" else f"input {index}"
            yield f"{what} is computed from the data, so that the shape depends on it"
            return
    if node.op_type in ("Loop", "Scan") and (node.op_type == "Scan" or node.input[0] not in static):
        yield "its number of turns is computed from the data"


def _uint8_between(model: onnx.ModelProto) -> list[str]:
    graph = onnx.shape_inference.infer_shapes(model).graph
    inputs = {item.name for item in graph.input}
    outputs = {item.name for item in graph.output}
    types = {item.name: item.type.tensor_type.elem_type for item in (*graph.value_info, *graph.input)}
    remarks = []
    for node in graph.node:
        reads = [name for name in node.input if types.get(name) in ENDS_ONLY]
        quantised = node.op_type in ("DequantizeLinear", "QuantizeLinear")
        if any(name not in inputs or node.op_type != "Cast" for name in reads) and not quantised:
            remarks.append(f"{node.op_type} {node.name!r}: uint8 between the ends of the graph, TensorRT takes none")
        if (
            node.op_type == "QuantizeLinear"
            and types.get(node.output[0]) in ENDS_ONLY
            and node.output[0] not in outputs
        ):
            remarks.append(f"{node.op_type} {node.name!r}: quantised to uint8, TensorRT takes symmetric int8 alone")
    return remarks
