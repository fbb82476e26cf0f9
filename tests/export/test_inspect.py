"""The look into a graph: nodes that TensorRT would refuse are named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgekit.errors import ModelError

onnx = pytest.importorskip("onnx")
from edgekit.export.inspect import describe, inspect_graph  # noqa: E402
from edgekit.export.preflight import preflight  # noqa: E402

helper, TensorProto = onnx.helper, onnx.TensorProto


def graph(nodes, inputs, outputs, tensors=()):
    made = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs],
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in outputs],
        [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in tensors],
    )
    return helper.make_model(
        made, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)], ir_version=9
    )


F, I = TensorProto.FLOAT, TensorProto.INT64  # noqa: E741


def test_a_computed_k_is_named():
    model = graph(
        [
            helper.make_node("ReduceMax", ["n"], ["k"], name="/k", keepdims=1),
            helper.make_node("TopK", ["x", "k"], ["v", "i"], name="/topk"),
        ],
        [("x", F, [1, 10]), ("n", I, [1])],
        [("v", F, None), ("i", I, None)],
    )
    (remark,) = preflight(model)
    assert "/topk" in remark
    assert "K is computed" in remark


def test_a_constant_k_passes_even_behind_a_reshape():
    model = graph(
        [
            helper.make_node("Reshape", ["five", "one"], ["k"], name="/reshape"),
            helper.make_node("TopK", ["x", "k"], ["v", "i"], name="/topk"),
        ],
        [("x", F, [1, 10])],
        [("v", F, [1, 5]), ("i", I, [1, 5])],
        [("five", np.array(5)), ("one", np.array([1]))],
    )
    assert preflight(model) == []


@pytest.mark.parametrize(
    ("node", "told"),
    [
        (helper.make_node("NonZero", ["x"], ["y"], name="/nz"), "number of rows depends on the data"),
        (helper.make_node("Einstein", ["x"], ["y"], name="/e", domain="com.example"), "no such operator (com.example)"),
        (helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"], name="/d"), "no such operator"),
    ],
)
def test_operators_that_tensorrt_lacks_are_named(node, told):
    model = graph([node], [("x", F, [2, 2])], [("y", I, None)])
    assert any(told in remark and node.name in remark for remark in preflight(model))


def test_a_free_input_size_is_named():
    model = graph([helper.make_node("Relu", ["x"], ["y"], name="/r")], [("x", F, ["n", 3])], [("y", F, ["n", 3])])
    assert any("'x'" in remark for remark in preflight(model))


def test_the_two_targets_of_a_model_differ_in_the_preflight(small_graph, small_graph_for_tensorrt):
    assert any("NonMaxSuppression" in remark for remark in inspect_graph(small_graph).preflight)
    assert inspect_graph(small_graph_for_tensorrt).preflight == ()


def test_a_graph_for_cpus_is_said_to_be_one_before_what_tensorrt_refuses(small_graph, small_graph_for_tensorrt):
    for path, target in ((small_graph, "cpu"), (small_graph_for_tensorrt, "tensorrt")):
        report = inspect_graph(path)
        assert report.summary()["target"] == target
        assert ("--target tensorrt" in describe(report)) == (target == "cpu")


def test_a_graph_of_another_tool_has_no_target(tmp_path):
    model = graph([helper.make_node("NonZero", ["x"], ["y"], name="/nz")], [("x", F, [2, 2])], [("y", I, None)])
    onnx.save(model, tmp_path / "m.onnx")
    report = inspect_graph(tmp_path / "m.onnx")
    assert report.target is None
    assert "NonZero" in describe(report)
    assert "--target" not in describe(report)


def test_a_report_says_what_a_person_looks_for(small_graph):
    report = inspect_graph(small_graph)
    text = describe(report)
    assert "tiles" in report.inputs
    assert report.inputs["tiles"] == "uint8[1, 128, 128, 3]"
    assert 0.15e9 < report.macs.macs < 0.25e9  # 3.1 G at 512 px is 0.19 G at 128
    for word in ("GMAC", "edgekit.model", "NonMaxSuppression", "pre-flight", "head"):
        assert word in text


def test_rows_that_the_data_decides_are_told_with_the_cost_of_one(small_graph):
    report = inspect_graph(small_graph)
    report = replace(report, macs=replace(report.macs, macs_per_data_row=32 * 128 * 128))
    assert "one such row (a mask that is drawn): 0.0005 GMAC" in describe(report)


def test_weights_beside_the_graph_count_and_are_missed(small_graph, tmp_path):
    path, data = tmp_path / "m.onnx", tmp_path / "m.data"
    model = onnx.load(small_graph)
    onnx.save_model(model, path, save_as_external_data=True, location=data.name, size_threshold=1024)
    assert inspect_graph(path).bytes == path.stat().st_size + data.stat().st_size
    data.unlink()
    report = inspect_graph(path)
    assert report.summary()["missing_files"] == [str(data)]
    assert f"keeps weights in {data}" in describe(report)


@pytest.mark.parametrize("content", [b"", b"text " * 100, b"\x00" * 64])
def test_what_is_no_graph_is_refused(tmp_path, content):
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelError):
        inspect_graph(path)
