"""Shapes that ONNX's inference cannot tell, from one run of the graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from edgekit.graph.operators import Shape

_TYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64}


def shapes_by_running(model: Any, names: Iterable[str]) -> dict[str, Shape]:
    """Shapes of tensors in one run on grey input, on the CPU.

    Exporters leave shapes to arithmetic that inference gives up on, although they are the same in every run.

    Returns:
        What could be told: nothing where the graph has inputs of open size or does not run on the CPU.
    """
    import onnxruntime

    wanted = sorted(set(names))
    constants = {item.name for item in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in constants]
    if not wanted or not all(_is_static(value) for value in inputs):
        return {}
    probe = type(model)()
    probe.CopyFrom(model)
    known = {value.name for value in probe.graph.output}
    for name in wanted:
        if name not in known:
            probe.graph.output.add().name = name
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(probe.SerializeToString(), options, providers=["CPUExecutionProvider"])
        results = session.run(wanted, {value.name: _grey(value) for value in inputs})
    except Exception:  # onnxruntime raises its own errors, which are no public types; the operators stay uncounted
        return {}
    return {name: tuple(np.shape(result)) for name, result in zip(wanted, results, strict=True)}


def _is_static(value: Any) -> bool:
    kind = value.type.tensor_type
    return kind.elem_type in _TYPES and kind.HasField("shape") and all(dim.dim_value > 0 for dim in kind.shape.dim)


def _grey(value: Any) -> Any:
    kind = value.type.tensor_type
    shape = tuple(dim.dim_value for dim in kind.shape.dim)
    return np.full(shape, 114 if kind.elem_type == 2 else 0.5, _TYPES[kind.elem_type])
