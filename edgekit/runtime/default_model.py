"""The fruit model that comes along."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

from edgekit.errors import ModelError

NAME = "fruit-yolo11n-seg.onnx"


def default_model_path() -> Path:
    """Path of the packaged model.

    Raises:
        ModelError: this edgekit was built without it.
    """
    packaged = files("edgekit") / "assets" / NAME
    if not packaged.is_file():
        raise ModelError(f"this edgekit has no {NAME} with it", mend="name a graph: --model M.onnx")
    with as_file(packaged) as path:  # wheels are unpacked, so that the path stays good after the block
        return path
