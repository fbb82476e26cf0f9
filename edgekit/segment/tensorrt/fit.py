"""May this engine run here, and what is it? An engine of another device can load and give wrong results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from edgekit.contracts import ModelInfo, Segmenter
from edgekit.errors import EngineError
from edgekit.segment.contract import read_info
from edgekit.segment.digest import file_digest
from edgekit.segment.engine_file import REBUILD, EngineFile, Sidecar, read_engine, read_sidecar
from edgekit.segment.smoke import check_against_graph
from edgekit.segment.tensorrt.device import describe_device
from edgekit.segment.tensorrt.modules import Modules

GRAPH_SUFFIX = ".onnx"


@dataclass(frozen=True)
class Fitting:
    """What is known of an engine before it runs."""

    info: ModelInfo
    remarks: tuple[str, ...] = ()
    """What the record of the choice should say."""
    check: Callable[[Segmenter], None] | None = None
    """To be called with the running engine; raises EngineError where it does not do what its graph does."""


def read_fitting(path: Path, modules: Modules) -> Fitting:
    """Look at an engine, its sidecar and the graph beside it.

    Without a sidecar nobody knows what the engine was built for. Then the graph beside it tells what the model is, and
    one tile whether the engine does the same.

    Raises:
        EngineError: no engine, one for another device, version or graph, or one that nothing is known of.
        ContractError: the metadata breaks the contract.
    """
    file, sidecar = read_engine(path), read_sidecar(path)
    graph = path.with_suffix(GRAPH_SUFFIX)
    if sidecar is not None:
        faults = misfits(sidecar, graph, modules)
        if faults:
            raise EngineError(f"{path} must not run here: {'; '.join(faults)}", mend=REBUILD)
        return Fitting(sidecar.info, (f"built for {sidecar.device.gpu_name}, {sidecar.precision}",))
    return _without_sidecar(path, file, graph)


def misfits(sidecar: Sidecar, graph: Path, modules: Modules) -> list[str]:
    """Why an engine must not run here, a line each; empty where it may.

    The graph's digest is that of its file: edgekit writes no graph that keeps its weights elsewhere.
    """
    device = describe_device(modules.cuda, modules.trt.__version__)
    return sidecar.differences(device, onnx_sha256=file_digest(graph) if graph.is_file() else None)


def _without_sidecar(path: Path, file: EngineFile, graph: Path) -> Fitting:
    metadata = {key: str(value) for key, value in (file.header or {}).items() if key.startswith("edgekit.")}
    if graph.is_file():
        from edgekit.segment.onnx_runtime import read_graph_info

        info = read_graph_info(graph)
        remark = f"no sidecar beside {path.name}: compared with {graph.name} on one tile"
        return Fitting(info, (remark,), partial(check_against_graph, graph, name=path.name))
    if metadata:
        return Fitting(
            read_info(metadata, name=path.name), (f"no sidecar beside {path.name}: it may be another GPU's",)
        )
    if file.header is not None:
        raise EngineError(
            f"{path} is an engine of Ultralytics, whose outputs are not those of the graph contract", mend=REBUILD
        )
    raise EngineError(
        f"{path} has neither a sidecar nor its graph beside it: nobody knows what it was built for", mend=REBUILD
    )
