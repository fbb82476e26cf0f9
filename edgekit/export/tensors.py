"""Shapes and types of a graph's tensors, by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import onnx

from edgekit.errors import ModelError
from edgekit.segment.contract import check_file

Shape = tuple[int | str | None, ...]
"""A text or None stands for a size that is not fixed."""


def load_graph(path: Path) -> onnx.ModelProto:
    """A graph without its external data.

    Raises:
        ModelError: no such file, empty, or no ONNX.
    """
    check_file(path)
    try:
        model = onnx.load(path, load_external_data=False)
    except Exception as error:  # protobuf's DecodeError, by whichever of its implementations is installed
        raise ModelError(f"{path} is no ONNX graph", mend="copy or export it again") from error
    if not model.graph.node:
        raise ModelError(f"{path} is no ONNX graph, or one without a node", mend="copy or export it again")
    return model


def external_files(model: onnx.ModelProto, folder: Path) -> list[Path]:
    """The files in which a graph of this folder keeps weights, in the order of their names."""
    entries = (entry for tensor in model.graph.initializer for entry in tensor.external_data)
    return [folder / place for place in sorted({entry.value for entry in entries if entry.key == "location"})]


def shape_of(item: onnx.ValueInfoProto) -> Shape:
    """Shape that a graph declares for a tensor."""
    return tuple(
        dim.dim_value if dim.HasField("dim_value") else (dim.dim_param or None)
        for dim in item.type.tensor_type.shape.dim
    )


def shapes_of(model: onnx.ModelProto) -> dict[str, Shape]:
    """Shapes of all tensors that can be inferred, those of the initializers included."""
    graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    declared = (*graph.value_info, *graph.input, *graph.output)
    shapes: dict[str, Shape] = {item.name: shape_of(item) for item in declared}
    shapes.update({tensor.name: tuple(tensor.dims) for tensor in graph.initializer})
    return shapes


def fixed_shapes(shapes: Mapping[str, Shape]) -> dict[str, tuple[int, ...]]:
    """The shapes in which every size is fixed."""
    return {
        name: tuple(size for size in shape if isinstance(size, int))
        for name, shape in shapes.items()
        if all(isinstance(size, int) for size in shape)
    }


def type_name(item: onnx.ValueInfoProto) -> str:
    """`uint8[1, 512, 512, 3]`."""
    name = onnx.TensorProto.DataType.Name(item.type.tensor_type.elem_type).lower()
    name = {"float": "float32", "double": "float64"}.get(name, name)
    return f"{name}[{', '.join('?' if size is None else str(size) for size in shape_of(item))}]"
