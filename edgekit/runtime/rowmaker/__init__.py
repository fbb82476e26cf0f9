"""Rows made from real pictures, with every position known: for tests, benchmarks and the demo."""

from edgekit.runtime.rowmaker.camera import SlidingCamera
from edgekit.runtime.rowmaker.layers import Blank, DepthLayer, Layer, Posts, leaves
from edgekit.runtime.rowmaker.look import Look
from edgekit.runtime.rowmaker.motion import CameraPath, Motion, Spell, camera_path
from edgekit.runtime.rowmaker.photo_row import PhotoRow, load_photo_row, photo_row

__all__ = [
    "Blank",
    "CameraPath",
    "DepthLayer",
    "Layer",
    "Look",
    "Motion",
    "PhotoRow",
    "Posts",
    "SlidingCamera",
    "Spell",
    "camera_path",
    "leaves",
    "load_photo_row",
    "photo_row",
]
