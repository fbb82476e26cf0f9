"""The error of a graph that was made and judged, and gets no name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from edgekit.errors import ExportError

MENDS: Mapping[str, str] = MappingProxyType(
    {
        "fp16": "keep fp32",
        "int8": "calibrate with pictures of the scene that the model will see, or keep fp32",
    }
)
"""What helps, by precision; nothing calibrates fp16."""


class RefusedError(ExportError):
    """A reduced graph that lies beyond the limits.

    Args:
        what: what lies beyond which limit.
        mend: what the reader can do about it.
        figures: everything that was measured, as plain values for JSON.
    """

    def __init__(self, what: str, *, mend: str, figures: Mapping[str, Any]) -> None:
        super().__init__(what, mend=mend)
        self.figures = dict(figures)
