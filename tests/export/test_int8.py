"""Eight bits: what is quantised, what stays, and how many tiles it takes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekit.errors import ExportError

onnx = pytest.importorskip("onnx")
pytest.importorskip("torch")  # the names of a graph's ends are in the module that traces
from edgekit.export.int8 import CHUNK, FEWEST_TILES, stride, to_int8  # noqa: E402
from edgekit.export.precision import Scopes  # noqa: E402

pytestmark = pytest.mark.torch
helper, TensorProto = onnx.helper, onnx.TensorProto
SIDE = 16


def small_model() -> onnx.ModelProto:
    """Two convolutions on scaled tiles, the second in a scope that is to stay as it is."""
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=(4, channels, 3, 3)).astype(np.float32) for channels in (3, 4)]
    nodes = [
        helper.make_node("Cast", ["tiles"], ["floats"], name="/Cast", to=TensorProto.FLOAT),
        helper.make_node("Transpose", ["floats"], ["image"], name="/Transpose", perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["image", "w0"], ["a"], name="/layers/a/Conv", pads=[1] * 4),
        helper.make_node("Conv", ["a", "w1"], ["b"], name="/layers/last/Conv", pads=[1] * 4),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("tiles", TensorProto.UINT8, [1, SIDE, SIDE, 3])],
        [helper.make_tensor_value_info("b", TensorProto.FLOAT, [1, 4, SIDE, SIDE])],
        [onnx.numpy_helper.from_array(value, f"w{index}") for index, value in enumerate(weights)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def tiles(number: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 256, (number, SIDE, SIDE, 3), np.uint8)


@given(st.integers(1, 200))
def test_the_stride_divides_any_number_of_batches(batches):
    assert batches % stride(batches) == 0
    assert 1 <= stride(batches) <= CHUNK


@pytest.mark.parametrize("target", ["cpu", "tensorrt"])
@pytest.mark.parametrize("number", [8, 9, 11])
def test_any_number_of_tiles_calibrates_and_what_is_sensitive_stays(number, target):
    reduced = to_int8(small_model(), tiles(number), scopes=Scopes(("/layers",), ("/layers/last",)), target=target)
    quantised = {node.input[0] for node in reduced.model.graph.node if node.op_type == "QuantizeLinear"}
    assert "image" in quantised
    weight_types = {tensor.data_type for tensor in reduced.model.graph.initializer if len(tensor.dims) == 4}
    assert weight_types == {TensorProto.INT8, TensorProto.FLOAT}


def test_activations_for_tensorrt_are_symmetric():
    reduced = to_int8(small_model(), tiles(8), scopes=Scopes(("/layers",)), target="tensorrt")
    zero_points = [
        onnx.numpy_helper.to_array(tensor) for tensor in reduced.model.graph.initializer if "zero_point" in tensor.name
    ]
    assert zero_points
    assert all(value.dtype == np.int8 and not value.any() for value in zero_points)


def test_too_few_tiles_are_refused():
    with pytest.raises(ExportError, match=f"needs {FEWEST_TILES} tiles to calibrate, got 7"):
        to_int8(small_model(), tiles(7), scopes=Scopes(("/layers",)), target="cpu")


def test_the_progress_counts_the_tiles_that_were_measured():
    told = []
    to_int8(small_model(), tiles(9), scopes=Scopes(("/layers",)), target="cpu", progress=lambda *at: told.append(at))
    assert told[0] == ("calibrating on tiles", 0, 9)
    assert told[-1] == ("calibrating on tiles", 9, 9)
