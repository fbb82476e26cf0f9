"""An engine of a finished graph is built where there is no torch."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from edgekit.cli.main import app
from edgekit.device.nvidia_driver import has_nvidia_gpu

BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "torchvision", "ultralytics", "tensorrt", "pycuda"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
from edgekit.cli.main import main
main()
"""


def test_a_graph_with_no_engine_format_is_told():
    done = CliRunner().invoke(app, ["export", "models/fruit.onnx"])
    assert done.exit_code == 2
    assert "--format engine" in done.output


def test_building_needs_tensorrt_and_no_torch(repository):
    pytest.importorskip("onnx")
    graph = repository / "edgekit" / "assets" / "fruit-yolo11n-seg.onnx"
    words = [sys.executable, "-c", BLOCKED, "export", str(graph), "--format", "engine"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == (11 if has_nvidia_gpu() else 32), done.stderr
    assert "tensorrt" in done.stderr.lower()
    assert "torch" not in done.stderr.lower()
