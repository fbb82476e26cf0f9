"""The one door to every backend."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from edgekit.contracts import Segmenter
from edgekit.segment.backend import choose_backend
from edgekit.segment.settings import SegmenterSettings


def open_segmenter(path: Path | str, *, settings: SegmenterSettings | None = None) -> Segmenter:
    """Open a model file, whatever its backend; the backend's module is imported when a file asks for it.

    Raises:
        ModelError: no such file, or not a model.
        ContractError: the graph breaks the contract.
        EngineError: an engine that must not run here.
        ProviderError: the wanted provider or device is not there.
        MissingDependencyError: a package that the backend needs is not installed.
    """
    settings = settings or SegmenterSettings()
    backend = choose_backend(Path(path), settings)
    make = getattr(import_module(backend.module), backend.kind)
    segmenter: Segmenter = make(backend.file, settings, remark=backend.remark)
    return segmenter
