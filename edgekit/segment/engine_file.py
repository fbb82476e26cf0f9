"""TensorRT engines as files: the plan, what may stand before it, and the sidecar that says where it may run.

An engine fits one GPU, one TensorRT and one graph; on others it may load and give wrong results. So a JSON file beside
it (`model.engine.json`) says what it was built from and for.
"""

from __future__ import annotations

import json
import string
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from edgekit.atomic import write_atomic
from edgekit.contracts import ModelInfo
from edgekit.errors import ContractError, EngineError
from edgekit.segment.contract import read_info

SUFFIX = ".engine"
SIDECAR_SUFFIX = ".json"
REBUILD = "build it on this device: edgekit export GRAPH.onnx --format engine"
SMALLEST_PLAN_BYTES = 256
"""A plan begins with a header of its own that is larger than this."""
LENGTH_BYTES = 4
"""Ultralytics writes a little-endian length and as many bytes of JSON in front of the plan."""
LARGEST_HEADER_BYTES = 1 << 20


@dataclass(frozen=True)
class Device:
    """What an engine is built for."""

    gpu_name: str
    compute_capability: str
    """Such as 8.7."""
    tensorrt_version: str
    jetpack: str | None
    """Release of Jetson Linux, such as R36.4.3; None on other machines."""


@dataclass(frozen=True)
class Sidecar:
    """What stands beside an engine."""

    onnx_sha256: str
    """Of the graph and its external data."""
    precision: str
    """As built, read back from the engine where TensorRT tells."""
    device: Device
    metadata: Mapping[str, str]
    """The graph's metadata, as in the ONNX file."""

    @property
    def info(self) -> ModelInfo:
        """What the graph says of itself.

        Raises:
            EngineError: the sidecar lacks some of it, or tells what cannot be.
        """
        try:
            return read_info(self.metadata, name="the engine's sidecar")
        except ContractError as error:
            raise EngineError(error.what, mend=REBUILD) from error

    def differences(self, device: Device, *, onnx_sha256: str | None = None) -> list[str]:
        """Why the engine must not run on `device` (or is not of this graph), a line each; empty where it may."""
        lines = [
            f"{item.name} is {getattr(device, item.name)} here, it was built for {getattr(self.device, item.name)}"
            for item in fields(Device)
            if getattr(device, item.name) != getattr(self.device, item.name)
        ]
        if onnx_sha256 is not None and onnx_sha256 != self.onnx_sha256:
            lines.append("it was built from another graph")
        return lines


@dataclass(frozen=True)
class EngineFile:
    """An engine as it lies on the disk."""

    plan: bytes
    """What TensorRT deserialises."""
    header: Mapping[str, Any] | None
    """JSON that Ultralytics put in front; None where the plan stands alone."""


def read_engine(path: Path) -> EngineFile:
    """Read an engine, with or without Ultralytics' header.

    Raises:
        EngineError: no such file, empty, text, cut short, or a header that is none.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise EngineError(f"cannot read the engine {path}: {error.strerror}", mend=REBUILD) from error
    if not data:
        raise EngineError(f"{path} is empty", mend=REBUILD)
    header, plan = _split_header(data, path)
    if all(byte in _PRINTABLE for byte in plan[:SMALLEST_PLAN_BYTES]):
        raise EngineError(f"{path} is text, not a TensorRT engine", mend=REBUILD)
    if len(plan) < SMALLEST_PLAN_BYTES:
        raise EngineError(f"{path} is cut short: {len(plan)} bytes of a plan", mend=REBUILD)
    return EngineFile(plan, header)


def sidecar_path(engine: Path) -> Path:
    """`model.engine.json` of `model.engine`."""
    return engine.with_name(engine.name + SIDECAR_SUFFIX)


def write_sidecar(engine: Path, sidecar: Sidecar) -> None:
    """Write the sidecar of an engine.

    Raises:
        StorageError: the disk is full, read-only or failing.
    """
    write_atomic(sidecar_path(engine), json.dumps(asdict(sidecar), indent=2).encode())


def read_sidecar(engine: Path) -> Sidecar | None:
    """The sidecar of an engine; None where it has none.

    Raises:
        EngineError: it is damaged.
    """
    path = sidecar_path(engine)
    if not path.is_file():
        return None
    try:
        values = json.loads(path.read_text("utf-8"))
        return Sidecar(values["onnx_sha256"], values["precision"], Device(**values["device"]), values["metadata"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EngineError(f"{path} is damaged: {error}", mend=REBUILD) from error


_PRINTABLE = frozenset(string.printable.encode())


def _split_header(data: bytes, path: Path) -> tuple[Mapping[str, Any] | None, bytes]:
    """Take Ultralytics' header off, where there is one."""
    length = int.from_bytes(data[:LENGTH_BYTES], "little")
    if data[LENGTH_BYTES : LENGTH_BYTES + 1] != b"{" or not 0 < length <= LARGEST_HEADER_BYTES:
        return None, data
    end = LENGTH_BYTES + length
    try:
        header = json.loads(data[LENGTH_BYTES:end])
    except ValueError as error:
        raise EngineError(f"{path} begins with a header that is cut short or no JSON", mend=REBUILD) from error
    return header, data[end:]
