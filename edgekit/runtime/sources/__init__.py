"""Where frames come from: folders of pictures, video files, cameras."""

from edgekit.runtime.sources.camera import CameraDescription, open_camera
from edgekit.runtime.sources.folder import FolderSource
from edgekit.runtime.sources.live import LiveSettings, LiveSource
from edgekit.runtime.sources.opening import open_source
from edgekit.runtime.sources.video import VideoSource

__all__ = [
    "CameraDescription",
    "FolderSource",
    "LiveSettings",
    "LiveSource",
    "VideoSource",
    "open_camera",
    "open_source",
]
