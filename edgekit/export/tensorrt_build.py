"""From a graph to a TensorRT engine and its sidecar; an engine that fits already is used again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import onnx

from edgekit.atomic import write_atomic
from edgekit.contracts import Progress
from edgekit.errors import EngineError
from edgekit.export.tensorrt_api import TensorRtApi
from edgekit.export.tensors import external_files, load_graph
from edgekit.segment.digest import file_digest
from edgekit.segment.engine_file import SUFFIX, Device, Sidecar, read_engine, read_sidecar, write_sidecar

WORKSPACE_BYTES = 1 << 30
"""A Jetson Orin NX shares 8 or 16 GB between CPU and GPU; one that runs out kills the build."""
TIMING_CACHE = "timing.cache"


@dataclass(frozen=True)
class BuiltEngine:
    """An engine that may run here."""

    path: Path
    sidecar: Sidecar
    reused: bool
    """True where it was there already and everything agreed."""


def build_engine(
    graph: Path, *, api: TensorRtApi, device: Device, progress: Progress, smoke: Callable[[Path], None] | None = None
) -> BuiltEngine:
    """Build the engine of a graph beside it, unless one is there whose sidecar agrees in everything.

    Args:
        graph: ONNX file of the contract.
        api: the TensorRT that is installed.
        device: the GPU that the engine is for.
        progress: gets the builder's phases.
        smoke: runs the finished engine on a stored tile, and raises where it does not do what the graph does.

    Raises:
        ExportError: TensorRT refuses the graph or gives up.
        EngineError: the precision cannot be honoured.
        StorageError: the disk is full, read-only or failing.
    """
    model = load_graph(graph)
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    digest = graph_digest(graph, model)
    path = graph.with_suffix(SUFFIX)
    found = reusable(path, device, digest)
    if found is not None:
        return BuiltEngine(path, found, reused=True)
    wanted = Sidecar(digest, "fp32", device, metadata).info.precision
    plan = _build(graph, wanted, api, progress)
    built = api.precision_built(plan) or wanted
    if built != wanted:
        raise EngineError(
            f"{graph.name} asks for {wanted}, TensorRT {api.version} built {built}",
            mend="build fp32, or update TensorRT",
        )
    sidecar = Sidecar(digest, built, device, metadata)
    write_atomic(path, plan)
    write_sidecar(path, sidecar)
    if smoke is not None:
        smoke(path)
    return BuiltEngine(path, sidecar, reused=False)


def reusable(engine: Path, device: Device, onnx_sha256: str) -> Sidecar | None:
    """The sidecar of an engine that is whole, of this graph and for this device; else None."""
    try:
        sidecar = read_sidecar(engine)
        read_engine(engine)
    except EngineError:
        return None
    if sidecar is None or sidecar.differences(device, onnx_sha256=onnx_sha256):
        return None
    return sidecar


def graph_digest(path: Path, model: onnx.ModelProto) -> str:
    """SHA-256 of a graph and of the files that hold its external data, in the order of their names."""
    digests = [file_digest(path)]
    for data in external_files(model, path.parent):
        if not data.is_file():
            raise EngineError(
                f"{path.name} keeps weights in {data.name}, which is not beside it", mend="copy it as well"
            )
        digests.append(file_digest(data))
    return hashlib.sha256("".join(digests).encode()).hexdigest() if len(digests) > 1 else digests[0]


def _build(graph: Path, precision: str, api: TensorRtApi, progress: Progress) -> bytes:
    builder = api.builder()
    network = builder.create_network(api.network_flags())
    api.parse(network, graph)
    config = builder.create_builder_config()
    api.set_workspace(config, WORKSPACE_BYTES)
    api.set_precision(builder, config, precision)
    api.set_progress(config, progress)
    api.tell_details(config)
    cache = graph.with_name(TIMING_CACHE)
    api.set_timing_cache(config, cache.read_bytes() if cache.is_file() else b"")
    plan = api.serialise(builder, network, config)
    timings = api.timing_cache(config)
    if timings:
        write_atomic(cache, timings)
    return plan
