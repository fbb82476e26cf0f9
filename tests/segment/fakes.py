"""A machine with a fake GPU: what has to be put where."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from segment.fake_cuda import FakeDriver, FakeGpu, fake_pycuda
from segment.fake_trt import fake_plan, fake_tensorrt
from segment.graphs import INFO, echo_graph

from edgekit.contracts import ModelInfo
from edgekit.segment.digest import file_digest
from edgekit.segment.engine_file import Device, Sidecar, write_sidecar
from edgekit.segment.tensorrt import session
from edgekit.segment.tensorrt.device import jetpack_release

TENSORRT = "10.3.0"


def install(monkeypatch: pytest.MonkeyPatch, gpu: FakeGpu, version: str = TENSORRT) -> None:
    """Put the fakes where `import tensorrt` and `import pycuda.driver` find them."""
    package = ModuleType("pycuda")
    package.driver = fake_pycuda(gpu)
    monkeypatch.setitem(sys.modules, "tensorrt", fake_tensorrt(gpu, version))
    monkeypatch.setitem(sys.modules, "pycuda", package)
    monkeypatch.setitem(sys.modules, "pycuda.driver", package.driver)
    monkeypatch.setattr(session, "load_driver", lambda: FakeDriver(gpu))


def fake_engine(
    folder: Path, info: ModelInfo = INFO, *, version: str = TENSORRT, sidecar: bool = True, **traits: object
) -> Path:
    """The engine of an echo graph, its graph beside it, and its sidecar."""
    graph = echo_graph(folder / "m.onnx", info)
    engine = folder / "m.engine"
    engine.write_bytes(fake_plan(graph, version, **traits))
    if sidecar:
        device = Device("Orin", "8.7", version, jetpack_release())
        write_sidecar(engine, Sidecar(file_digest(graph), info.precision, device, info.to_metadata()))
    return engine
