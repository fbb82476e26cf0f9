"""Values that are known before any data is, computed once: shapes of fixed tensors and everything that follows.

Tracing leaves chains of Shape, Gather, Add, Div and Slice where a model asks for a size. Shape inference loses its way
in them, and TensorRT spends layers on them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from edgekit.export.tensors import fixed_shapes, shapes_of

LARGEST = 4096
"""Elements of a value that is folded; larger ones (weights) are left to the runtimes."""
KEPT = frozenset(("RandomNormal", "RandomUniform", "Loop", "If", "Scan", "QuantizeLinear", "DequantizeLinear"))


def fold_constants(model: onnx.ModelProto) -> None:
    """Fold in place, until nothing is left that can be: each round makes more shapes known."""
    graph = model.graph
    while True:
        shapes = fixed_shapes(shapes_of(model))
        known = _small_constants(graph)
        before = set(known)
        for node in list(graph.node):
            value = _value(node, known, shapes, model.opset_import)
            if value is not None and value.size <= LARGEST:
                known[node.output[0]] = value
                graph.node.remove(node)
        folded = known.keys() - before
        if not folded:
            break
        graph.initializer.extend(numpy_helper.from_array(known[name], name) for name in sorted(folded))
        del graph.value_info[:]
    _drop_unused(graph)
    graph.value_info.extend(onnx.shape_inference.infer_shapes(model).graph.value_info)


def _small_constants(graph: onnx.GraphProto) -> dict[str, npt.NDArray[np.generic]]:
    return {
        tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer if np.prod(tensor.dims) <= LARGEST
    }


def _value(
    node: onnx.NodeProto,
    known: dict[str, npt.NDArray[np.generic]],
    shapes: dict[str, tuple[int, ...]],
    opsets: list[onnx.OperatorSetIdProto],
) -> npt.NDArray[np.generic] | None:
    """What a node gives, where that is known; None where it is not."""
    if node.op_type == "Constant" and node.attribute[0].name == "value":
        return numpy_helper.to_array(node.attribute[0].t)
    if node.op_type == "Shape" and not node.attribute:
        shape = shapes.get(node.input[0])
        return None if shape is None else np.array(shape, np.int64)
    inputs = [name for name in node.input if name]
    if len(node.output) != 1 or node.op_type in KEPT or node.domain or not all(name in known for name in inputs):
        return None
    evaluator = ReferenceEvaluator(node, opsets={item.domain: item.version for item in opsets})
    (value,) = evaluator.run(None, {name: known[name] for name in inputs})
    return np.asarray(value)


def _drop_unused(graph: onnx.GraphProto) -> None:
    used = {name for node in graph.node for name in node.input} | {item.name for item in graph.output}
    for tensor in [tensor for tensor in graph.initializer if tensor.name not in used]:
        graph.initializer.remove(tensor)
