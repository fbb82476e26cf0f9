"""Where frames come from: folders of pictures, video files, cameras."""

from edgekit.runtime.sources.camera import open_camera
from edgekit.runtime.sources.description import CameraDescription, read_camera
from edgekit.runtime.sources.folder import FolderSource
from edgekit.runtime.sources.live import LiveSettings, LiveSource
from edgekit.runtime.sources.opening import open_source

__all__ = [
    "CameraDescription",
    "FolderSource",
    "LiveSettings",
    "LiveSource",
    "open_camera",
    "open_source",
    "read_camera",
]
