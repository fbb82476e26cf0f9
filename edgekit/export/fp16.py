"""Half precision, expressed in the graph: TensorRT 11 knows strong typing only, so that the types are the instruction.

The nodes in the scopes that a model names run in float16, all others in float32, with one cast where a tensor crosses.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from edgekit.export.precision import ReducedGraph, in_scope

FLOAT32_OPERATORS = frozenset(
    ("Softmax", "LayerNormalization", "ReduceMean", "ReduceSum", "ReduceL2", "Pow", "Sqrt", "Exp", "Log", "Reciprocal")
)
"""Sums and powers overflow float16's 65504 (a mean of squares over 1024 channels of 300 does), so they stay."""
FLOAT32_INPUTS = {"Resize": (1, 2)}
"""Inputs whose type ONNX fixes, whatever the first one is."""
LARGEST = float(np.finfo(np.float16).max)


def to_fp16(model: onnx.ModelProto, *, scopes: Iterable[str]) -> ReducedGraph:
    """A copy of a float32 graph with the nodes below `scopes` in float16.

    Args:
        model: float32 graph.
        scopes: prefixes of node names.
    """
    typed = onnx.shape_inference.infer_shapes(model)
    graph = typed.graph
    constants_to_initializers(graph)
    floats = _float_tensors(graph)
    halves = [node for node in graph.node if in_scope(node, scopes) and node.op_type not in FLOAT32_OPERATORS]
    kept = tuple(node.name for node in graph.node if in_scope(node, scopes) and node.op_type in FLOAT32_OPERATORS)
    made_half = {name for node in halves for name in node.output if name in floats}
    names = {node.name for node in halves}
    casts = _Casts(graph, floats, made_half)
    for node in list(graph.node):
        _retype(node, half=node.name in names, casts=casts)
    outputs = {output.name for output in graph.output}
    if made_half & outputs:
        raise ValueError(f"{sorted(made_half & outputs)} of the contract would become float16")
    del graph.value_info[:]
    _sort_in(graph, casts.made)
    return ReducedGraph(onnx.shape_inference.infer_shapes(typed), kept)


def constants_to_initializers(graph: onnx.GraphProto) -> None:
    """Turn Constant nodes into initializers, in place, so that there is one kind of constant."""
    for node in [node for node in graph.node if node.op_type == "Constant"]:
        value = next(item for item in node.attribute if item.name == "value")
        tensor = graph.initializer.add()
        tensor.CopyFrom(value.t)
        tensor.name = node.output[0]
        graph.node.remove(node)


class _Casts:
    """Casts and half-precision copies of constants, made once for each tensor."""

    def __init__(self, graph: onnx.GraphProto, floats: set[str], made_half: set[str]) -> None:
        self.made: dict[str, onnx.NodeProto] = {}
        self._graph = graph
        self._constants = {tensor.name: tensor for tensor in graph.initializer}
        self._floats = floats
        self._made_half = made_half

    def as_type(self, name: str, *, half: bool) -> str:
        """Name of the tensor in the type that is wanted."""
        if name not in self._floats or (name in self._made_half) == half:
            return name
        if name in self._constants:
            return self._constant(name)
        twin = f"{name}/{'half' if half else 'float'}"
        if twin not in self.made:
            wanted = TensorProto.FLOAT16 if half else TensorProto.FLOAT
            self.made[twin] = helper.make_node("Cast", [name], [twin], name=f"{twin}/Cast", to=wanted)
        return twin

    def _constant(self, name: str) -> str:
        twin = f"{name}/half"
        if twin not in self._constants:
            values = numpy_helper.to_array(self._constants[name])
            tensor = numpy_helper.from_array(np.clip(values, -LARGEST, LARGEST).astype(np.float16), twin)
            self._constants[twin] = tensor
            self._graph.initializer.append(tensor)
        return twin


def _retype(node: onnx.NodeProto, *, half: bool, casts: _Casts) -> None:
    fixed = FLOAT32_INPUTS.get(node.op_type, ())
    for index, name in enumerate(node.input):
        node.input[index] = casts.as_type(name, half=half and index not in fixed)
    if half and node.op_type == "Cast":
        for attribute in node.attribute:
            if attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.FLOAT16


def _float_tensors(graph: onnx.GraphProto) -> set[str]:
    """Names of all tensors of float32."""
    declared = (*graph.value_info, *graph.input, *graph.output)
    names = {item.name for item in declared if item.type.tensor_type.elem_type == TensorProto.FLOAT}
    return names | {tensor.name for tensor in graph.initializer if tensor.data_type == TensorProto.FLOAT}


def _sort_in(graph: onnx.GraphProto, casts: dict[str, onnx.NodeProto]) -> None:
    """Put each cast right behind the node that makes its input, and drop constants that nobody uses any more."""
    waiting: dict[str, list[onnx.NodeProto]] = {}
    for cast in casts.values():
        waiting.setdefault(cast.input[0], []).append(cast)
    ordered = [cast for item in graph.input for cast in waiting.get(item.name, [])]
    for node in graph.node:
        ordered.append(node)
        ordered += [cast for name in node.output for cast in waiting.get(name, [])]
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in ordered]
    del graph.node[:]
    graph.node.extend(copies)
    used = {name for node in copies for name in node.input}
    kept = [tensor for tensor in graph.initializer if tensor.name in used]
    copied = [TensorProto.FromString(tensor.SerializeToString()) for tensor in kept]
    del graph.initializer[:]
    graph.initializer.extend(copied)
