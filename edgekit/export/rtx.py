"""A graph compiled ahead for TensorRT for RTX, on the desktop GPU that is to run it."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnxruntime as ort

from edgekit.atomic import atomic_path
from edgekit.errors import ExportError
from edgekit.export.onnx_writer import annotate
from edgekit.export.tensors import load_graph
from edgekit.segment.contract import read_info
from edgekit.segment.rtx_plugin import rtx_devices

ENDING = "-rtx.onnx"


def compile_for_rtx(graph: Path) -> Path:
    """Write `<graph>-rtx.onnx`, which holds the compiled engine and the contract's metadata.

    Raises:
        MissingDependencyError: the plugin is not installed.
        ProviderError: there is no GPU for it.
        ExportError: the compiler refuses the graph.
        StorageError: the disk is full, read-only or failing.
    """
    devices = rtx_devices()
    info = read_info({entry.key: entry.value for entry in load_graph(graph).metadata_props}, name=graph.name)
    options = ort.SessionOptions()
    options.add_provider_for_devices(devices[:1], {})
    path = graph.with_name(graph.stem + ENDING)
    with atomic_path(path) as temporary:
        try:
            ort.ModelCompiler(options, str(graph), embed_compiled_data_into_model=True).compile_to_file(str(temporary))
        except Exception as error:  # ONNX Runtime has no common base class for its errors
            reason = str(error).strip().splitlines()[0]
            raise ExportError(f"TensorRT for RTX does not compile {graph.name}: {reason}") from error
        compiled = onnx.load(temporary)
        annotate(compiled, info)
        temporary.write_bytes(compiled.SerializeToString())
    return path
