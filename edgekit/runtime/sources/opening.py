"""From what a person names to a source of frames."""

from __future__ import annotations

from pathlib import Path

from edgekit.contracts import FrameSource
from edgekit.errors import SourceError
from edgekit.runtime.sources.folder import FolderSource
from edgekit.runtime.sources.pictures import PICTURE_SUFFIXES
from edgekit.runtime.sources.video import VideoSource


def open_source(path: Path, *, rate_hz: float = 30.0) -> FrameSource:
    """The source for a folder of pictures or a video file.

    Args:
        path: a folder or a file.
        rate_hz: nominal frames per second of a folder of pictures; a video brings its own times.

    Raises:
        SourceError: nothing is there, the folder holds no pictures, or the file is empty or no video.
    """
    if path.is_dir():
        return FolderSource(path, rate_hz=rate_hz)
    if not path.exists():
        raise SourceError(f"{path} does not exist", mend="give a video file or a folder of pictures")
    if path.is_file() and path.stat().st_size == 0:
        raise SourceError(f"{path} is empty", mend="give a video file or a folder of pictures")
    if path.suffix.lower() in PICTURE_SUFFIXES:
        hint = "give the folder it lies in, or use --panorama if it is a finished panorama"
        raise SourceError(f"{path} is one picture, not a sequence", mend=hint)
    return VideoSource(path)
