"""The inputs and outputs of an engine: their types, their shapes, and the bytes that they take."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgekit.contracts import ModelInfo
from edgekit.errors import EngineError
from edgekit.segment.contract import Tensor, check_graph
from edgekit.segment.tensorrt.api import DTYPES, Context, Dims, Engine


@dataclass(frozen=True)
class Binding:
    """One input or output of fixed size."""

    name: str
    is_input: bool
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def size_bytes(self) -> int:
        """What it takes; TensorRT wants an address even for nothing, so at least one byte."""
        return max(math.prod(self.shape) * self.dtype.itemsize, 1)

    @property
    def tensor(self) -> Tensor:
        """The same, as a graph declares it."""
        return Tensor(self.dtype.name, self.shape)


def read_bindings(engine: Engine, context: Context, trt: Any, wanted: Mapping[str, Tensor]) -> list[Binding]:
    """The tensors of an engine, with every size fixed.

    Args:
        engine: the engine.
        context: where shapes that were left open at the build are settled.
        trt: the module `tensorrt`.
        wanted: shapes for inputs that the engine leaves open.

    Raises:
        EngineError: a type that NumPy lacks, a shape that the engine does not allow, or one that depends on the data.
    """
    names = [engine.get_tensor_name(index) for index in range(engine.num_io_tensors)]
    inputs = {name for name in names if engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT}
    for name in inputs:
        _settle_shape(engine, context, name, wanted)
    unknown = context.infer_shapes()
    if unknown:
        raise EngineError(f"the engine leaves the size of {', '.join(unknown)} open", mend="build it with fixed sizes")
    return [Binding(name, name in inputs, _dtype(engine, name), _shape(context, name)) for name in names]


def check_bindings(bindings: Sequence[Binding], info: ModelInfo, name: str) -> None:
    """Compare what an engine has with what the contract asks for.

    Raises:
        ContractError: tensors that are missing, of another type or of another shape, all named.
    """
    inputs = {item.name: item.tensor for item in bindings if item.is_input}
    outputs = {item.name: item.tensor for item in bindings if not item.is_input}
    check_graph(info, inputs, outputs, name=name)


def _settle_shape(engine: Engine, context: Context, name: str, wanted: Mapping[str, Tensor]) -> None:
    built = _sizes(engine.get_tensor_shape(name))
    if -1 not in built or name not in wanted:
        return
    shape = wanted[name].fixed_shape
    if not context.set_input_shape(name, shape):
        raise EngineError(
            f"the engine takes {name} as {built}, not as {shape}", mend="build it from this model's graph"
        )


def _shape(context: Context, name: str) -> tuple[int, ...]:
    shape = _sizes(context.get_tensor_shape(name))
    if any(size < 0 for size in shape):
        raise EngineError(
            f"the size of the engine's {name} depends on the data ({shape})",
            mend="export the model with edgekit export: its graphs have fixed sizes",
        )
    return shape


def _sizes(dims: Dims) -> tuple[int, ...]:
    return tuple(dims[axis] for axis in range(len(dims)))


def _dtype(engine: Engine, name: str) -> np.dtype[Any]:
    kind = engine.get_tensor_dtype(name).name
    if kind not in DTYPES:
        raise EngineError(f"the engine's {name} is {kind}, which NumPy lacks", mend="export the model with edgekit")
    return DTYPES[kind]
