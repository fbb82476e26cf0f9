"""MACs and parameters of the ONNX graph that runs: every operator is counted, or listed as not counted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from edgekit.errors import MissingDependencyError, ModelError
from edgekit.graph.operators import COUNTED, Shape
from edgekit.graph.shapes import shapes_by_running

Share = Literal["fixed", "per_proposal", "per_mask"]
BORN_FLOAT = (1, 10, 11, 16)
"""ONNX types of parameters: float, float16, double, bfloat16."""
QUANTISED = (2, 3)
"""uint8 and int8: parameters only where a DequantizeLinear or an integer product reads them."""
UNKNOWN_SHAPE = "of unknown shape"
DATA_DECIDES = "of as many rows as the data wants"
"""Told of operators that had none on a grey picture: an R-CNN for CPUs draws masks only for what it finds."""
WEIGHT_READERS = frozenset(COUNTED) | {
    "BatchNormalization", "LayerNormalization", "InstanceNormalization", "GroupNormalization", "PRelu", "Add", "Mul",
    "DequantizeLinear", "SimplifiedLayerNormalization", "RMSNormalization",
}  # fmt: skip
"""Operators whose constant inputs are parameters. Constants of others are tables: anchors, indices, shapes."""


@dataclass(frozen=True)
class GraphCost:
    """What a graph costs for one run of its batch; every figure names its unit."""

    batch: int
    macs: int
    """Multiply-accumulates of one batch; twice as many floating point operations."""
    macs_per_image: float
    parameters: int
    """Values in constant inputs of weight-bearing operators; norms folded into convolutions are gone."""
    macs_by_part: Mapping[str, int]
    """First scope of the operators' names -> MACs."""
    macs_by_operator: Mapping[str, int]
    macs_fixed: int
    """MACs that do not depend on proposals or masks (one batch)."""
    macs_per_proposal: float | None
    """MACs of one proposal in the heads of a two-stage model; None where there is none."""
    macs_per_mask: float | None
    """MACs of one mask row; None where the graph has no part that runs once a mask."""
    not_counted: Mapping[str, int]
    """Operators without multiply-accumulates (or without known shapes: marked so) -> how many."""
    loops: int
    """Loop bodies: their operators are counted once, whatever the number of turns."""
    macs_per_data_row: int = 0
    """MACs of one row in the operators whose number of rows the data decides, such as the masks that are drawn; no part
    of `macs`."""

    @property
    def missing(self) -> tuple[str, ...]:
        """What has multiply-accumulates that could not be counted."""
        told = (UNKNOWN_SHAPE, DATA_DECIDES)
        return tuple(f"{count} {name}" for name, count in self.not_counted.items() if name.endswith(told))


def graph_cost(path: Path, *, proposals: int | None = None, detections: int | None = None) -> GraphCost:
    """Count a model file.

    Args:
        path: ONNX file with static shapes.
        proposals: rows that reach the box head of a two-stage model, per image; None for one-stage models.
        detections: rows that reach the mask head, per image.

    Raises:
        ModelError: the file is no ONNX model.
        MissingDependencyError: onnx is not installed.
    """
    onnx = _onnx()
    try:
        model = onnx.load(str(path))
    except Exception as error:  # onnx raises protobuf's own errors, which are no public type
        raise ModelError(f"{path} is no ONNX model: {str(error)[:80]}") from error
    return count_model(model, proposals=proposals, detections=detections)


def count_model(model: Any, *, proposals: int | None = None, detections: int | None = None) -> GraphCost:
    """Count a loaded ONNX model; see `graph_cost`."""
    inferred = _onnx().shape_inference.infer_shapes(model, data_prop=True)
    shapes = _shapes(inferred.graph)
    shapes |= shapes_by_running(inferred, _wanted(inferred.graph) - shapes.keys())
    tally = _Tally(_batch(inferred.graph), proposals, detections)
    _walk(inferred.graph, shapes, tally)
    total = sum(tally.by_operator.values())
    shares = tally.by_share
    rows = {"per_proposal": proposals, "per_mask": detections}
    return GraphCost(
        batch=tally.batch,
        macs=total,
        macs_per_image=total / tally.batch,
        parameters=sum(tally.parameters.values()),
        macs_by_part=dict(tally.by_part.most_common()),
        macs_by_operator=dict(tally.by_operator.most_common()),
        macs_fixed=shares["fixed"],
        macs_per_proposal=_per_row(shares["per_proposal"], tally.batch, rows["per_proposal"]),
        macs_per_mask=_per_row(shares["per_mask"], tally.batch, rows["per_mask"]),
        not_counted=dict(tally.not_counted.most_common()),
        loops=tally.loops,
        macs_per_data_row=tally.per_data_row,
    )


class _Tally:
    """Sums while the graph is walked."""

    def __init__(self, batch: int, proposals: int | None, detections: int | None) -> None:
        self.batch = batch
        self.rows: dict[Share, int] = {}
        if proposals:
            self.rows["per_proposal"] = batch * proposals
        if detections:
            self.rows["per_mask"] = batch * detections
        self.by_part: Counter[str] = Counter()
        self.by_operator: Counter[str] = Counter()
        self.by_share: Counter[str] = Counter()
        self.not_counted: Counter[str] = Counter()
        self.parameters: dict[str, int] = {}
        self.loops = 0
        self.per_data_row = 0

    def share_of(self, shape: Shape) -> Share:
        """Whether an operator runs once, once a proposal or once a mask: its leading dimensions tell."""
        for share, rows in self.rows.items():
            if shape and (shape[0] == rows or (len(shape) > 2 and shape[0] * shape[1] == rows)):
                return share
        return "fixed"


def _walk(graph: Any, shapes: dict[str, Shape], tally: _Tally) -> None:
    constants = {item.name: item for item in graph.initializer}
    for node in graph.node:
        for inner in _bodies(node):
            tally.loops += node.op_type in ("Loop", "Scan")
            _walk(inner, shapes | _shapes(inner), tally)
        _note_parameters(node, constants, tally)
        counter = COUNTED.get(node.op_type)
        if counter is None:
            tally.not_counted[node.op_type] += 1
            continue
        try:
            outputs = [shapes[name] for name in node.output if name]
            macs = counter([shapes.get(name, ()) for name in node.input], outputs, _attributes(node))
        except (KeyError, IndexError, ValueError):
            tally.not_counted[f"{node.op_type} {UNKNOWN_SHAPE}"] += 1
            continue
        if 0 in outputs[0]:
            tally.not_counted[f"{node.op_type} {DATA_DECIDES}"] += 1
            rows_in, rows_out = (
                [_one_row(shapes.get(name, ())) for name in names] for names in (node.input, node.output)
            )
            tally.per_data_row += counter(rows_in, rows_out, _attributes(node))
            continue
        tally.by_operator[node.op_type] += macs
        tally.by_part[_part(node)] += macs
        tally.by_share[tally.share_of(outputs[0])] += macs


def _one_row(shape: Shape) -> Shape:
    """A shape without rows as if it had one."""
    return tuple(size or 1 for size in shape)


def _note_parameters(node: Any, constants: Mapping[str, Any], tally: _Tally) -> None:
    if node.op_type not in WEIGHT_READERS:
        return
    for name in node.input:
        item = constants.get(name)
        if item is not None and item.data_type in BORN_FLOAT + QUANTISED and math.prod(item.dims) > 1:
            tally.parameters[name] = math.prod(item.dims)


def _shapes(graph: Any) -> dict[str, Shape]:
    shapes = {item.name: tuple(item.dims) for item in graph.initializer}
    for value in (*graph.input, *graph.value_info, *graph.output):
        dims = value.type.tensor_type.shape.dim
        if value.type.tensor_type.HasField("shape") and all(dim.HasField("dim_value") for dim in dims):
            shapes[value.name] = tuple(int(dim.dim_value) for dim in dims)
    return shapes


def _wanted(graph: Any) -> set[str]:
    """Tensors at the counted operators of the main graph."""
    return {name for node in graph.node if node.op_type in COUNTED for name in (*node.input, *node.output) if name}


def _batch(graph: Any) -> int:
    constants = {item.name for item in graph.initializer}
    first = next((value for value in graph.input if value.name not in constants), None)
    dims = first.type.tensor_type.shape.dim if first is not None else ()
    return int(dims[0].dim_value) or 1 if dims else 1


def _bodies(node: Any) -> Iterator[Any]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g


def _attributes(node: Any) -> dict[str, Any]:
    helper = _onnx().helper
    values = {item.name: helper.get_attribute_value(item) for item in node.attribute if not item.HasField("g")}
    return {key: value.decode() if isinstance(value, bytes) else value for key, value in values.items()}


def _part(node: Any) -> str:
    """The first scope that the exporter wrote for a node: a block of the model."""
    for entry in node.metadata_props:
        if entry.key.endswith("name_scopes"):
            scopes = [scope.strip(" '\"") for scope in entry.value.strip("[]").split(",")]
            named: list[str] = [scope for scope in scopes if scope]
            if named:
                return named[0].split(".")[0]
    scopes = [scope for scope in str(node.name).split("/") if scope]
    return scopes[0] if len(scopes) > 1 else "(no scope)"


def _per_row(macs: int, batch: int, rows: int | None) -> float | None:
    return macs / (batch * rows) if rows and macs else None


def _onnx() -> Any:
    try:
        import onnx
        import onnx.helper
        import onnx.shape_inference
    except ImportError as error:
        raise MissingDependencyError("onnx is not installed", mend="pip install 'edgekit[bench]'") from error
    return onnx
