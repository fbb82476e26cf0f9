"""From what a person names to a source of frames."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from edgekit.contracts import FrameSource
from edgekit.errors import SourceError
from edgekit.runtime.sources.description import has_an_end, read_camera, require_file
from edgekit.runtime.sources.folder import RATE_HZ, FolderSource
from edgekit.runtime.sources.pictures import PICTURE_SUFFIXES
from edgekit.runtime.sources.stretch import StretchSource, parse_stretch

_NEVER_S = 20.0
"""A person who started this waits for the camera: one that never gave a frame by then is told, not waited for."""


def open_source(path: Path, *, rate_hz: float = RATE_HZ, told: Callable[[str], None] | None = None) -> FrameSource:
    """The source for a folder of pictures, a video file or a camera.

    Args:
        path: a folder, a video, a stretch of either (`FILE#NAME:FIRST-STOP`), or the description of a camera (TOML).
        rate_hz: nominal frames per second of a folder of pictures; a video brings its own times.
        told: hears why a camera is started again.

    Raises:
        SettingsError: the description of the camera cannot be used.
        SourceError: nothing is there, the folder holds no pictures, or the file is empty or no video.
    """
    if path.suffix == ".toml" and path.is_file():
        from edgekit.runtime.sources.camera import open_camera
        from edgekit.runtime.sources.live import LiveSettings

        camera = read_camera(path)
        require_file(camera)
        film = has_an_end(camera)
        return open_camera(camera, settings=LiveSettings(never_s=_NEVER_S, may_end=film), waits=film, told=told)
    stretch = parse_stretch(path)
    if stretch is not None:
        return StretchSource(open_source(stretch.file, rate_hz=rate_hz), stretch)
    if path.is_dir():
        return FolderSource(path, rate_hz=rate_hz)
    if not path.exists():
        raise SourceError(f"{path} does not exist", mend="give a video file or a folder of pictures")
    if not path.is_file():
        raise SourceError(f"{path} is a pipe or a device", mend="give a video file or a folder of pictures")
    if path.stat().st_size == 0:
        raise SourceError(f"{path} is empty", mend="give a video file or a folder of pictures")
    if path.suffix.lower() in PICTURE_SUFFIXES:
        hint = "give the folder it lies in, or use --panorama if it is a finished panorama"
        raise SourceError(f"{path} is one picture, not a sequence", mend=hint)
    from edgekit.runtime.sources.video import VideoSource  # brings PyAV along, which pictures do not need

    return VideoSource(path)
