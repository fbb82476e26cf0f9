"""The one door to every backend."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from edgekit.contracts import Segmenter
from edgekit.errors import ModelError
from edgekit.segment.settings import SegmenterSettings

BACKENDS = MappingProxyType({".onnx": ("edgekit.segment.onnx_runtime", "OnnxRuntimeSegmenter")})
"""Suffix of the file -> module and class that runs it; the module is imported when a file asks for it."""


def open_segmenter(path: Path | str, *, settings: SegmenterSettings | None = None) -> Segmenter:
    """Open a model file, whatever its backend.

    Raises:
        ModelError: no such file, or not a model.
        ContractError: the graph breaks the contract.
        ProviderError: the wanted provider or device is not there.
    """
    path = Path(path)
    if path.suffix not in BACKENDS:
        raise ModelError(
            f"{path} is no model file by its name", mend=f"edgekit runs files that end in {', '.join(BACKENDS)}"
        )
    module, name = BACKENDS[path.suffix]
    segmenter: Segmenter = getattr(import_module(module), name)(path, settings or SegmenterSettings())
    return segmenter
