"""Where frames come from: folders of pictures and video files."""

from edgekit.runtime.sources.folder import FolderSource
from edgekit.runtime.sources.opening import open_source
from edgekit.runtime.sources.video import VideoSource

__all__ = ["FolderSource", "VideoSource", "open_source"]
