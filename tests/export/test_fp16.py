"""Half precision in the graph: where it applies, what stays, and an overflow that is seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from export.conftest import SMALL
from segment.graphs import INFO, echo_graph, tiles_with_counts

from edgekit.errors import ExportError

onnx = pytest.importorskip("onnx")
to_fp16 = pytest.importorskip("edgekit.export.fp16").to_fp16
pytest.importorskip("torch")

from_array = onnx.numpy_helper.from_array
helper, TensorProto = onnx.helper, onnx.TensorProto


def model(nodes, tensors=(), *, shape=(1, 8), out="y"):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info(out, TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [x], [y], list(tensors))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def run(graph, x):
    import onnxruntime as ort

    session = ort.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


def types(graph):
    inferred = onnx.shape_inference.infer_shapes(graph, strict_mode=True)
    return {item.name: item.type.tensor_type.elem_type for item in inferred.graph.value_info}


def chain():
    weight = from_array(np.full((8, 8), 0.1, np.float32), "w")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="/net/MatMul"),
        helper.make_node("Softmax", ["a"], ["b"], name="/net/Softmax"),
        helper.make_node("Mul", ["b", "w"], ["c"], name="/net/Mul"),
        helper.make_node("MatMul", ["c", "w"], ["y"], name="/MatMul"),
    ]
    return model(nodes, [weight])


def test_only_the_scope_is_halved_and_softmax_stays():
    graph = to_fp16(chain(), scopes=("/net",))
    found = types(graph.model)
    assert found["a"] == found["c"] == TensorProto.FLOAT16
    assert found["b"] == TensorProto.FLOAT
    assert graph.kept == ("/net/Softmax",)
    assert graph.model.graph.output[0].type.tensor_type.elem_type == TensorProto.FLOAT


def test_values_agree_to_half_precision():
    x = np.linspace(-1, 1, 8, dtype=np.float32)[None]
    before, after = run(chain(), x), run(to_fp16(chain(), scopes=("/net",)).model, x)
    assert after.dtype == np.float32
    np.testing.assert_allclose(after, before, rtol=2e-3)


def test_the_source_graph_is_left_alone():
    source = chain()
    before = source.SerializeToString()
    to_fp16(source, scopes=("/net",))
    assert source.SerializeToString() == before


def test_a_weight_used_in_both_precisions_is_kept_in_both():
    graph = to_fp16(chain(), scopes=("/net",)).model
    kinds = {tensor.name: tensor.data_type for tensor in graph.graph.initializer}
    assert sorted(kinds.values()) == [TensorProto.FLOAT, TensorProto.FLOAT16]


def test_weights_beyond_the_range_are_clipped_not_made_infinite():
    weight = from_array(np.full((8,), 1e6, np.float32), "w")
    nodes = [
        helper.make_node("Mul", ["x", "w"], ["h"], name="/net/Mul"),
        helper.make_node("Identity", ["h"], ["y"], name="/Identity"),
    ]
    graph = to_fp16(model(nodes, [weight]), scopes=("/net",))
    halves = [onnx.numpy_helper.to_array(item) for item in graph.model.graph.initializer]
    assert all(np.isfinite(values).all() for values in halves)


def test_a_result_that_is_not_finite_is_refused(tmp_path):
    """What an overflow leaves behind; ONNX Runtime's CPU provider itself computes halves in float32."""
    held_tiles = pytest.importorskip("edgekit.export.held_tiles")
    good = echo_graph(tmp_path / "a.onnx")
    bad = echo_graph(tmp_path / "b.onnx", replace(INFO, precision="fp16"), best_score=np.inf)
    with pytest.raises(ExportError, match=r"fp16: 1 of 2 tiles .* not finite"):
        held_tiles.judge(good, bad, tiles_with_counts(3, 0))


def test_a_result_beyond_the_limits_is_refused_with_the_figures(tmp_path):
    held_tiles = pytest.importorskip("edgekit.export.held_tiles")
    good = echo_graph(tmp_path / "a.onnx")
    bad = echo_graph(tmp_path / "b.onnx", replace(INFO, precision="fp16", max_detections=3))
    with pytest.raises(ExportError, match=r"fp16 was refused on 2 held tiles: unmatched share 0\.25"):
        held_tiles.judge(good, bad, tiles_with_counts(5, 0))
    assert held_tiles.judge(good, good, tiles_with_counts(5, 0)).matched == 5


def test_fp16_of_a_model_passes_its_own_comparison(tmp_path):
    """The floor lies above nothing here, so that the rows are many; the limits are those of every export."""
    from edgekit.export.builder import Weights
    from edgekit.export.fp16 import to_fp16
    from edgekit.export.onnx_writer import annotate, trace, write
    from edgekit.export.yolo import build
    from edgekit.segment import open_segmenter

    built = build(SMALL, Weights(untrained_seed=3), target="tensorrt")
    reduced = to_fp16(trace(built), scopes=built.reduced)
    annotate(reduced.model, replace(built.info, precision="fp16"))
    write(reduced.model, tmp_path / "half.onnx")
    segmenter = open_segmenter(tmp_path / "half.onnx")
    assert segmenter.info.precision == "fp16"
    (result,) = segmenter.segment(np.random.default_rng(0).integers(0, 256, (1, 128, 128, 3), np.uint8))
    assert len(result.instances)
    kinds = {node.name: node for node in reduced.model.graph.node}
    assert all("Softmax" in name or "Reduce" in name for name in reduced.kept), reduced.kept
    assert any(name.endswith("/Cast") for name in kinds)
