"""ONNX Runtime's errors in words that a person can act on."""

from __future__ import annotations

import re
from types import MappingProxyType

_CODE = re.compile(r"^\[ONNXRuntimeError\] : \d+ : (\w+) : (.*)$", re.DOTALL)
_PLACES = re.compile(r"\S+\.(?:h|cc|cpp):\d+ [^\n]*?\) (?=[A-Z])|Load model from \S+ failed:\s*")
"""Where in its own source code it noticed, and the name of the file, which is told already."""

_SAYINGS = (
    (re.compile(r"No Op registered for (\w+)"), "it has an operator that ONNX Runtime lacks: {0}"),
    (re.compile(r"Opset (\d+) is under development.* till opset (\d+)", re.DOTALL), "its opset {0} is newer than {1}"),
    (re.compile(r"Could not find an implementation for (\w+)"), "it has an operator that this provider lacks: {0}"),
    (re.compile(r"External data .*\"([^\"]+)\"", re.DOTALL), "it keeps weights in {0}, which cannot be read"),
)
_MEANINGS = MappingProxyType(
    {
        "INVALID_PROTOBUF": "it is no ONNX file, or is cut short",
        "NO_MODEL": "it is no ONNX file",
        "NO_SUCHFILE": "a file that it refers to is missing",
    }
)
"""Code of ONNX Runtime -> what it means for a file."""
LONGEST = 200
"""Characters of ONNX Runtime's own words that are kept where nothing better is known."""


def meaning(error: Exception) -> str:
    """One line: what is wrong, in our words where the case is known, else in ONNX Runtime's, shortened."""
    found = _CODE.match(str(error).strip())
    code, text = (found[1], found[2]) if found else ("", str(error).strip())
    for pattern, saying in _SAYINGS:
        case = pattern.search(text)
        if case:
            return saying.format(*case.groups())
    if code in _MEANINGS:
        return _MEANINGS[code]
    words = " ".join(_PLACES.sub("", text.splitlines()[0] if text else "").split())
    short = words if len(words) <= LONGEST else f"{words[:LONGEST]}..."
    return short or type(error).__name__
