"""From a built model to an ONNX file: traced, annotated, checked, and named only when it is whole."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx
import torch

from edgekit.atomic import atomic_path
from edgekit.contracts import ModelInfo
from edgekit.errors import ExportError
from edgekit.export.builder import BuiltGraph
from edgekit.export.fold_constants import fold_constants

OPSET = 17
"""The newest opset that TensorRT 10.3 (JetPack 6) takes whole; the models need 17 for LayerNormalization."""
INPUT = "tiles"


def trace(built: BuiltGraph) -> onnx.ModelProto:
    """Trace a model into an ONNX graph with the contract's names and static shapes.

    The TorchScript-based exporter is named on purpose: the newer one, PyTorch's default since 2.9, cannot do detection
    models, and its graphs name no modules, by which reduced precision is confined.

    Raises:
        ExportError: the exporter failed.
    """
    size = built.info.tile_size_px
    tiles = torch.zeros((built.info.batch, size, size, 3), dtype=torch.uint8)
    with TemporaryDirectory() as folder, torch.no_grad(), _quiet():
        file = Path(folder) / "traced.onnx"
        shapes = {name: tuple(value.shape) for name, value in zip(built.output_names, built.module(tiles), strict=True)}
        try:
            torch.onnx.export(
                built.module,
                (tiles,),
                file,
                dynamo=False,
                opset_version=OPSET,
                input_names=[INPUT],
                output_names=list(built.output_names),
                do_constant_folding=True,
            )
        except (RuntimeError, torch.onnx.errors.OnnxExporterError) as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise ExportError(f"PyTorch's TorchScript exporter failed on {built.info.model}: {lines[-1]}") from error
        model = onnx.load(file)
    _declare_shapes(model, shapes)
    fold_constants(model)
    return model


def annotate(model: onnx.ModelProto, info: ModelInfo) -> None:
    """Put the contract's metadata into a graph, in place; entries of other tools stay."""
    entries = info.to_metadata()
    kept = [entry for entry in model.metadata_props if entry.key not in entries]
    del model.metadata_props[:]
    model.metadata_props.extend(kept)
    for key, value in entries.items():
        model.metadata_props.add(key=key, value=value)


def write(model: onnx.ModelProto, path: Path) -> None:
    """Check a graph and write it whole or not at all.

    Raises:
        ExportError: `onnx.checker` refuses the graph.
        StorageError: the disk is full, read-only or failing.
    """
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        raise ExportError(f"the exported graph is not valid: {str(error).strip().splitlines()[0]}") from error
    with atomic_path(path) as temporary:
        temporary.write_bytes(model.SerializeToString())


def _declare_shapes(model: onnx.ModelProto, shapes: dict[str, tuple[int, ...]]) -> None:
    """Write the outputs' shapes, which are known, into the graph, where tracing lost them."""
    for output in model.graph.output:
        declared: Any = output.type.tensor_type.shape
        del declared.dim[:]
        for length in shapes[output.name]:
            declared.dim.add(dim_value=length)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporter's remarks on its own deprecation and on tracing from the person who exports."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            logger.setLevel(level)
