"""Which backend runs a model file, and why."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgekit.errors import EdgekitError, EngineError, ModelError
from edgekit.segment.engine_file import REBUILD, SIDECAR_SUFFIX, SUFFIX, read_sidecar
from edgekit.segment.settings import SegmenterSettings

GRAPH_SUFFIX = ".onnx"


@dataclass(frozen=True)
class Backend:
    """A file, and what runs it."""

    file: Path
    """The engine of a graph, where that runs instead."""
    module: str
    kind: str
    """Name of the class in the module."""
    remark: str | None = None
    """Why it is not the one that a person may have expected; None where it is."""


def choose_backend(path: Path, settings: SegmenterSettings) -> Backend:
    """The backend for a model file.

    Raises:
        ModelError: no model file by its name, or one that the wanted backend does not run.
        EngineError: TensorRT is wanted, and the graph has no engine.
    """
    if path.suffix == SUFFIX:
        if settings.backend == "onnxruntime":
            raise ModelError(f"{path} is an engine, which TensorRT alone runs", mend="name the graph (.onnx) instead")
        return _tensorrt(path)
    if path.suffix != GRAPH_SUFFIX:
        known = f"{GRAPH_SUFFIX}, {SUFFIX}"
        raise ModelError(f"{path} is no model file by its name", mend=f"edgekit runs files that end in {known}")
    engine = path.with_suffix(SUFFIX)
    if settings.backend == "tensorrt":
        if not engine.is_file():
            raise EngineError(f"{path.name} has no engine beside it ({engine.name})", mend=REBUILD)
        return _tensorrt(engine)
    if settings.backend == "auto" and engine.is_file():
        fault = _why_not(engine, path)
        return _tensorrt(engine) if fault is None else _onnxruntime(path, f"{engine.name} is not used: {fault}")
    return _onnxruntime(path)


def _why_not(engine: Path, graph: Path) -> str | None:
    """Why the engine beside a graph is not taken by itself; None where it is. One without a sidecar is not."""
    from edgekit.segment.tensorrt.fit import misfits
    from edgekit.segment.tensorrt.modules import load_modules

    try:
        sidecar = read_sidecar(engine)
        if sidecar is None:
            return f"it has no sidecar ({engine.name}{SIDECAR_SUFFIX})"
        return "; ".join(misfits(sidecar, graph, load_modules())) or None
    except EdgekitError as error:
        return error.what


def _tensorrt(path: Path) -> Backend:
    return Backend(path, "edgekit.segment.tensorrt.segmenter", "TensorRtSegmenter")


def _onnxruntime(path: Path, remark: str | None = None) -> Backend:
    return Backend(path, "edgekit.segment.onnx_runtime", "OnnxRuntimeSegmenter", remark)
