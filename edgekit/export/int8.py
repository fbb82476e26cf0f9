"""Eight bits by static quantisation: Q/DQ pairs in the graph, with ranges measured on real tiles.

Ranges are measured by running the float32 graph itself on uint8 tiles, so that calibration cannot see another
preprocessing than inference does.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static

from edgekit.contracts import Progress, no_progress
from edgekit.errors import ExportError
from edgekit.export.onnx_writer import INPUT
from edgekit.export.precision import ReducedGraph, Scopes, in_scope
from edgekit.export.recipe import Target

OPERATORS = (
    "Conv", "ConvTranspose", "Gemm", "Relu", "Mul", "Sigmoid", "Add", "Concat", "MaxPool", "Resize", "Split",
)  # fmt: skip
"""Operators to quantise: whole activations, so that ONNX Runtime goes from convolution to convolution in eight bits."""
ELEMENTWISE = ("Mul", "Add")
"""With a constant operand they stay: TensorRT takes a quantised constant in front of a DequantizeLinear alone."""
FEWEST_TILES = 8
"""Ranges of fewer tiles say more about those tiles than about the model."""
CHUNK = 4
"""Most batches whose ranges are in memory at once."""


def to_int8(
    model: onnx.ModelProto,
    tiles: npt.NDArray[np.uint8],
    *,
    scopes: Scopes,
    target: Target,
    progress: Progress = no_progress,
) -> ReducedGraph:
    """A copy of a float32 graph with the nodes below `scopes` quantised to eight bits.

    Activations are asymmetric uint8 for CPUs and symmetric int8 for TensorRT, which takes nothing else; weights are
    symmetric int8 for each output channel. For CPUs they use seven of the eight bits: those without VNNI add two
    products of uint8 and int8 in 16 bits, which saturate (ONNX Runtime's documentation of quantisation).

    Args:
        model: float32 graph.
        tiles: uint8, N x S x S x 3, N >= FEWEST_TILES.
        scopes: prefixes of the node names to quantise, and of those among them to leave alone.
        target: what the graph will run on.
        progress: told how many tiles are measured.

    Raises:
        ExportError: too few tiles.
    """
    if len(tiles) < FEWEST_TILES:
        raise ExportError(f"int8 needs {FEWEST_TILES} tiles to calibrate, got {len(tiles)}", mend="give more pictures")
    constants = {tensor.name for tensor in model.graph.initializer}
    excluded = [
        node.name
        for node in model.graph.node
        if not in_scope(node, scopes.reduced)
        or in_scope(node, scopes.sensitive)
        or (node.op_type in ELEMENTWISE and constants.intersection(node.input))
    ]
    batch = model.graph.input[0].type.tensor_type.shape.dim[0].dim_value
    with TemporaryDirectory() as folder, _quiet():
        source, result = Path(folder) / "float.onnx", Path(folder) / "int8.onnx"
        onnx.save(onnx.shape_inference.infer_shapes(model), source)
        quantize_static(
            source,
            result,
            _TileReader(tiles, batch, progress),
            quant_format=QuantFormat.QDQ,
            op_types_to_quantize=list(OPERATORS),
            nodes_to_exclude=excluded,
            per_channel=True,
            activation_type=QuantType.QInt8 if target == "tensorrt" else QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            reduce_range=target == "cpu",
            calibrate_method=CalibrationMethod.MinMax,
            extra_options={
                "ActivationSymmetric": target == "tensorrt",
                "QuantizeBias": target != "tensorrt",
                "CalibStridedMinMax": stride(len(tiles) // batch),
            },
        )
        quantised = onnx.load(result)
    return ReducedGraph(quantised, higher_precision(quantised, scopes.reduced))


def stride(batches: int) -> int:
    """How many batches are measured at once: the quantiser wants a number that divides them."""
    return max(number for number in range(1, CHUNK + 1) if batches % number == 0)


def higher_precision(model: onnx.ModelProto, scopes: Iterable[str]) -> tuple[str, ...]:
    """Nodes within the scopes that compute, and that do so on values that are not quantised."""
    dequantised = {node.output[0] for node in model.graph.node if node.op_type == "DequantizeLinear"}
    silent = ("QuantizeLinear", "DequantizeLinear", "Constant", "Shape", "Gather", "Reshape", "Transpose")
    return tuple(
        node.name
        for node in model.graph.node
        if in_scope(node, scopes) and node.op_type not in silent and node.input[0] not in dequantised
    )


class _TileReader(CalibrationDataReader):  # type: ignore[misc]
    """Tiles in batches, as ONNX Runtime's quantiser wants them."""

    def __init__(self, tiles: npt.NDArray[np.uint8], batch: int, progress: Progress) -> None:
        usable = len(tiles) // batch * batch
        self._batches = [tiles[start : start + batch] for start in range(0, usable, batch)]
        self._rest: Iterator[npt.NDArray[np.uint8]] = iter(self._batches)
        self._read, self._batch, self._progress = 0, batch, progress

    def __len__(self) -> int:
        return len(self._batches)

    def set_range(self, start_index: int, end_index: int) -> None:
        """Go on with the batches of this range."""
        self._rest = iter(self._batches[start_index:end_index])

    def get_next(self) -> dict[str, Any] | None:
        """The next batch by the input's name; None behind the last."""
        batch = next(self._rest, None)
        self._progress("calibrating on tiles", self._read * self._batch, len(self) * self._batch)
        if batch is None:
            return None
        self._read += 1
        return {INPUT: batch}


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the quantiser's advice on pre-processing to itself: the graph was folded while it was traced."""
    level = logging.getLogger().level
    logging.getLogger().setLevel(logging.ERROR)
    try:
        yield
    finally:
        logging.getLogger().setLevel(level)
