"""ONNX Runtime's errors in words that a person can act on."""

from __future__ import annotations

import re
from types import MappingProxyType

_CODE = re.compile(r"^\[ONNXRuntimeError\] : \d+ : (\w+) : (.*)$", re.DOTALL)
_PLACES = re.compile(r"\S*/onnxruntime/\S+\s*|Load model from \S+ failed:\s*|In Node,.*?Status Message:\s*")

_MEANINGS = MappingProxyType(
    {
        "INVALID_PROTOBUF": "it is no ONNX file, or is cut short",
        "NO_MODEL": "it is no ONNX file",
        "NO_SUCHFILE": "a file that it refers to is missing",
        "INVALID_GRAPH": "its graph breaks ONNX's rules",
        "NOT_IMPLEMENTED": "it has an operator that is not there",
    }
)
"""Code of ONNX Runtime -> what it means for a file."""
LONGEST = 200
"""Characters of ONNX Runtime's own words that are kept."""


def meaning(error: Exception) -> str:
    """One line: what a code means, and ONNX Runtime's words without its own file names where they say more."""
    found = _CODE.match(str(error).strip())
    code, text = (found[1], found[2]) if found else ("", str(error).strip())
    words = " ".join(_PLACES.sub("", text.splitlines()[0] if text else "").split())
    said = _MEANINGS.get(code)
    if said and (code in ("INVALID_PROTOBUF", "NO_MODEL") or not words):
        return said
    short = words if len(words) <= LONGEST else f"{words[:LONGEST]}..."
    return f"{said} ({short})" if said else short or type(error).__name__
