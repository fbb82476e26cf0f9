"""The model families, by the name that a recipe gives."""

from __future__ import annotations

import difflib
from importlib import import_module
from types import MappingProxyType

from edgekit.errors import SettingsError
from edgekit.export.builder import Builder

FAMILIES = MappingProxyType(
    {
        "yolo11": ("edgekit.export.yolo", "build"),
        "mask_rcnn": ("edgekit.export.rcnn", "build"),
        "ms_rcnn": ("edgekit.export.rcnn", "build"),
        "mask_rcnn_sw": ("edgekit.export.rcnn", "build"),
    }
)
"""Family -> module and function that build it; the module is imported when a recipe asks for it."""


def find_builder(model: str) -> Builder:
    """The function that builds a family.

    Raises:
        SettingsError: no such family.
    """
    if model not in FAMILIES:
        near = difflib.get_close_matches(model, FAMILIES, n=1, cutoff=0.0)[0]
        raise SettingsError(f"no model {model!r}", mend=f"the nearest is {near!r}; there are {', '.join(FAMILIES)}")
    module, name = FAMILIES[model]
    builder: Builder = getattr(import_module(module), name)
    return builder
