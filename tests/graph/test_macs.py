"""MACs by hand and against PyTorch's own counter."""

from __future__ import annotations

import io

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from edgekit.errors import ModelError  # noqa: E402
from edgekit.graph.macs import count_model, graph_cost  # noqa: E402


def model_of(nodes, inputs, outputs, weights):
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()]
    constants = [numpy_helper.from_array(np.zeros(shape, np.float32), name) for name, shape in weights.items()]
    graph = helper.make_graph(nodes, "g", values, results, constants)
    opset = helper.make_opsetid("", 18)
    return helper.make_model(graph, opset_imports=[opset], ir_version=9)  # one that every onnxruntime reads


def test_one_3x3_convolution_by_hand() -> None:
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], name="/stem/conv/Conv", pads=[1, 1, 1, 1])
    cost = count_model(model_of([node], {"x": [2, 16, 20, 30]}, {"y": None}, {"w": [32, 16, 3, 3], "b": [32]}))
    assert cost.macs == 2 * 32 * 20 * 30 * 16 * 9
    assert cost.macs_per_image == cost.macs / 2
    assert cost.parameters == 32 * 16 * 9 + 32
    assert cost.macs_by_part == {"stem": cost.macs}
    assert cost.macs_per_proposal is None


@pytest.mark.parametrize(("op", "attributes", "shapes", "macs"), [
    ("Conv", {"group": 16}, ([1, 16, 8, 8], [16, 1, 1, 1]), 16 * 64),
    ("ConvTranspose", {"strides": [2, 2]}, ([1, 8, 5, 5], [8, 4, 2, 2]), 8 * 25 * 4 * 4),
    ("MatMul", {}, ([3, 4, 10, 16], [3, 4, 16, 10]), 12 * 10 * 10 * 16),
    ("Gemm", {"transB": 1}, ([5, 7], [9, 7]), 5 * 9 * 7),
    ("Gemm", {"transA": 1}, ([7, 5], [7, 9]), 5 * 9 * 7),
    ("Einsum", {"equation": "bhqd,bhkd->bhqk"}, ([2, 3, 5, 8], [2, 3, 6, 8]), 2 * 3 * 5 * 6 * 8),
    ("Einsum", {"equation": "...ij,...jk->...ik"}, ([2, 4, 5], [2, 5, 6]), 2 * 4 * 5 * 6),
])  # fmt: skip
def test_operators_by_hand(op, attributes, shapes, macs) -> None:
    node = helper.make_node(op, ["x", "w"], ["y"], **attributes)
    assert count_model(model_of([node], {"x": shapes[0], "w": shapes[1]}, {"y": None}, {})).macs == macs


def test_every_operator_is_counted_or_listed() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Relu", ["b"], ["c"]), helper.make_node("Sigmoid", ["c"], ["y"]),
    ]  # fmt: skip
    cost = count_model(model_of(nodes, {"x": [1, 3, 4, 4]}, {"y": None}, {"w": [8, 3, 1, 1]}))
    assert cost.not_counted == {"Relu": 2, "Sigmoid": 1}
    assert sum(cost.macs_by_operator.values()) == cost.macs
    unknown = count_model(model_of([nodes[0]], {"x": ["n", 3, "h", "w"]}, {"a": None}, {"w": [8, 3, 1, 1]}))
    assert unknown.not_counted == {"Conv of unknown shape": 1}


def test_fixed_part_and_parts_per_proposal_and_mask() -> None:
    """Batch 2, 50 proposals and 10 masks an image: the head's cost is told per row."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["y"], name="/backbone/c/Conv"),
        helper.make_node("Gemm", ["rois", "fc"], ["z"], name="/box_head/fc/Gemm"),
        helper.make_node("Conv", ["masks", "mw"], ["m"], name="/mask_head/c/Conv"),
    ]
    inputs = {"x": [2, 3, 8, 8], "rois": [100, 64], "masks": [20, 16, 14, 14]}
    weights = {"w": [4, 3, 1, 1], "fc": [64, 32], "mw": [8, 16, 1, 1]}
    cost = count_model(model_of(nodes, inputs, {"y": None, "z": None, "m": None}, weights), proposals=50, detections=10)
    assert cost.macs_fixed == 2 * 64 * 4 * 3
    assert cost.macs_per_proposal == 64 * 32
    assert cost.macs_per_mask == 196 * 16 * 8
    assert cost.macs == cost.macs_fixed + 100 * cost.macs_per_proposal + 20 * cost.macs_per_mask


def test_what_had_no_rows_on_a_grey_picture_is_told() -> None:
    nodes = [
        helper.make_node("Less", ["x", "nine"], ["bright"]),
        helper.make_node("NonZero", ["bright"], ["where"]),
        helper.make_node("Transpose", ["where"], ["rows"]),
        helper.make_node("Cast", ["rows"], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["floats", "w"], ["y"], name="/head/fc/MatMul"),
    ]
    cost = count_model(model_of(nodes, {"x": [4, 3]}, {"y": None}, {"w": [2, 5], "nine": []}))
    assert cost.macs == 0
    assert cost.missing == ("1 MatMul of as many rows as the data wants",)
    assert cost.macs_per_data_row == 2 * 5


def test_no_model(tmp_path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"\x00nonsense")
    with pytest.raises(ModelError):
        graph_cost(path)


@pytest.mark.torch
def test_attention_in_torch_and_in_onnx() -> None:
    torch = pytest.importorskip("torch")
    from edgekit.bench.model.torch_cost import torch_cost

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = torch.nn.Linear(32, 96), torch.nn.Linear(32, 32)
            self.out.weight.requires_grad_(False)

        def forward(self, x):
            q, k, v = (part.reshape(2, 10, 4, 8).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
            weights = (q @ k.transpose(-1, -2)).softmax(-1)
            return self.out(torch.einsum("bhqk,bhkd->bqhd", weights, v).reshape(2, 10, 32))

    block, x = Block(), torch.zeros(2, 10, 32)
    expected = 20 * 32 * 96 + 2 * (2 * 4 * 10 * 10 * 8) + 20 * 32 * 32
    cost = torch_cost(block, x)
    assert cost.macs == expected
    assert cost.parameters == 32 * 96 + 96 + 32 * 32 + 32
    assert cost.trainable_parameters == cost.parameters - 32 * 32
    assert any("softmax" in name for name in cost.not_counted)
    buffer = io.BytesIO()
    torch.onnx.export(block, (x,), buffer, dynamo=False, opset_version=17)
    assert count_model(onnx.load_from_string(buffer.getvalue())).macs == expected
