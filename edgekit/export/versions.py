"""Versions of what exported a graph."""

from __future__ import annotations

from importlib.metadata import version
from importlib.util import find_spec


def exporter_versions(*packages: str) -> dict[str, str]:
    """Versions of edgekit, torch, onnx and of further packages that took part, by package; those installed only."""
    names = ("edgekit", "torch", "onnx", *packages)
    return {name: version(name) for name in names if find_spec(name) is not None}
