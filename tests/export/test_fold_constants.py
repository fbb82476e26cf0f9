"""What is known before the data is folded; what the data decides is left alone."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
fold_constants = pytest.importorskip("edgekit.export.fold_constants").fold_constants
helper = onnx.helper


def model(shape):
    """Half of the columns, the way PyTorch's `chunk` is traced."""
    constants = {"axis": np.array(1), "one": np.array([1]), "two": np.array([2]), "zero": np.array([0])}
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name="relu"),
        helper.make_node("Shape", ["r"], ["s"], name="shape"),
        helper.make_node("Gather", ["s", "one"], ["n"], name="gather", axis=0),
        helper.make_node("Div", ["n", "two"], ["h"], name="div"),
        helper.make_node("Slice", ["r", "zero", "h", "one"], ["y"], name="slice"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(value.astype(np.int64), name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def run(graph, x):
    import onnxruntime as ort

    return ort.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


def test_chains_of_fixed_shapes_are_folded_and_the_result_stays():
    graph = model([2, 6])
    x = np.random.default_rng(0).normal(size=(2, 6)).astype(np.float32)
    before = run(graph, x)
    fold_constants(graph)
    assert [node.op_type for node in graph.graph.node] == ["Relu", "Slice"]
    np.testing.assert_array_equal(run(graph, x), before)
    assert before.shape == (2, 3)


def test_a_free_size_is_left_alone():
    graph = model([2, "n"])
    fold_constants(graph)
    assert [node.op_type for node in graph.graph.node] == ["Relu", "Shape", "Gather", "Div", "Slice"]


def test_constants_that_nobody_uses_any_more_are_dropped():
    graph = model([2, 6])
    fold_constants(graph)
    assert "two" not in {tensor.name for tensor in graph.graph.initializer}
