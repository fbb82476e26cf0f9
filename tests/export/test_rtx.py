"""`--format rtx` where it cannot work: one line, before anything is exported."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from typer.testing import CliRunner

from edgekit.device import nvidia_driver
from edgekit.errors import MissingDependencyError, ProviderError

pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
pytest.importorskip("torch")
from edgekit.export.rtx import compile_for_rtx  # noqa: E402
from edgekit.segment import rtx_plugin  # noqa: E402
from edgekit.segment.rtx_plugin import MODULE  # noqa: E402

pytestmark = pytest.mark.torch


@pytest.fixture
def plugin(monkeypatch):
    """The plugin as it is on a machine without a GPU: it loads, and has no device."""
    module = ModuleType(MODULE)
    module.get_ep_name = lambda: "NvTensorRTRTXExecutionProvider"  # type: ignore[attr-defined]
    module.get_library_path = lambda: "/nowhere/libplugin.so"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, MODULE, module)
    monkeypatch.setattr(ort, "register_execution_provider_library", lambda *_: None, raising=False)
    monkeypatch.setattr(ort, "get_ep_devices", lambda: [], raising=False)
    return module


def test_without_the_plugin_it_is_named(tmp_path, monkeypatch):
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(rtx_plugin, "import_module", missing)
    monkeypatch.setattr(nvidia_driver, "has_nvidia_gpu", lambda: True)
    with pytest.raises(MissingDependencyError, match="onnxruntime-ep-nv-tensorrt-rtx-cu13"):
        compile_for_rtx(tmp_path / "m.onnx")


def test_without_plugin_and_gpu_the_gpu_is_named_first(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, rtx_plugin.MODULE, None)
    monkeypatch.setattr(nvidia_driver, "has_nvidia_gpu", lambda: False)
    with pytest.raises(ProviderError, match=r"^no NVIDIA GPU, or no driver for it, here .*onnxruntime-ep") as told:
        compile_for_rtx(tmp_path / "m.onnx")
    assert "pip install" not in str(told.value)


def test_without_a_gpu_one_line_says_so(tmp_path, plugin):
    with pytest.raises(ProviderError, match="no NVIDIA RTX GPU"):
        compile_for_rtx(tmp_path / "m.onnx")


def test_a_plugin_that_does_not_load_is_told(tmp_path, plugin, monkeypatch):
    def refuse(*_: str) -> None:
        raise RuntimeError("libcuda.so.1: cannot open shared object file\nmore")

    monkeypatch.setattr(ort, "register_execution_provider_library", refuse, raising=False)
    with pytest.raises(ProviderError, match="does not load: libcuda"):
        compile_for_rtx(tmp_path / "m.onnx")


@pytest.mark.parametrize("format_", ["rtx", "engine"])
def test_the_command_refuses_before_it_exports(tmp_path, plugin, monkeypatch, format_):
    pytest.importorskip("ultralytics")
    from edgekit.cli.export import app

    monkeypatch.setitem(sys.modules, "tensorrt", None)
    arguments = ["yolo11", "--untrained", "1", "--format", format_, "--out", str(tmp_path / "out")]
    outcome = CliRunner().invoke(app, arguments)
    assert isinstance(outcome.exception, (ProviderError, MissingDependencyError))
    assert not (tmp_path / "out").exists()
