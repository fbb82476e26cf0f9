"""The live source of each kind of camera: the process that gives its frames."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable

from edgekit.contracts import Image
from edgekit.errors import MissingDependencyError
from edgekit.runtime.sources.description import CameraDescription
from edgekit.runtime.sources.feed import Feed
from edgekit.runtime.sources.frame_pool import FramePool
from edgekit.runtime.sources.framing import Framing, HeaderFraming, RawFraming
from edgekit.runtime.sources.live import LiveSettings, LiveSource
from edgekit.runtime.sources.mounting import turning
from edgekit.runtime.sources.pace import Asked

_RTSP_TIMEOUT_US = 3_000_000
_IN_HAND = 5
"""Frames of one camera that are being read, compared with the one before, or placed in the panorama."""
_APART = 'exec 3>&1 1>&2; exec "$@"'
"""Pixels go through handle 3: nvarguscamerasrc and others print to standard output whatever they please."""


def open_camera(
    camera: CameraDescription,
    *,
    settings: LiveSettings | None = None,
    held: int = 1,
    waiting: int = 0,
    waits: bool = False,
    told: Callable[[str], None] | None = None,
) -> LiveSource:
    """The source for a camera; it is started when its frames are asked for.

    Args:
        camera: its description.
        settings: patience.
        held: frames that may wait for a reader that is late; 1: the newest alone.
        waiting: frames that the reader may hold itself; memory for all of them is taken with the first one.
        waits: it waits for its reader instead, and loses no frame: a film.
        told: hears why a camera is started again.

    Raises:
        MissingDependencyError: GStreamer's tools are not installed.
    """
    turn = turning(camera)
    as_they_come = FramePool(held + _IN_HAND + (0 if turn else waiting))
    command, framing = _command(camera, as_they_come)

    def start() -> Feed:
        return Feed(command, framing, held=held, waits=waits)

    name = camera.pipeline if camera.kind == "gstreamer" else f"{camera.kind} {camera.address}"
    upright = turn and _pooled(turn, FramePool(waiting + _IN_HAND))
    return LiveSource(name, start, settings=settings, turn=upright, asked=_asked(camera), told=told)


def _pooled(turn: Callable[[Image], Image], pool: FramePool) -> Callable[[Image], Image]:
    return lambda image: pool.copy(turn(image))


def _asked(camera: CameraDescription) -> Asked:
    if camera.given:
        return Asked(camera.size_wh, camera.rate_hz)
    if camera.kind == "gstreamer":  # the size is forced by scaling, and the pipeline has a rate of its own
        return Asked(camera.asked_size_wh, camera.rate_hz)
    return Asked(camera.asked_size_wh, camera.asked_rate_hz)


def _command(camera: CameraDescription, pool: FramePool) -> tuple[list[str], Framing]:
    """The process that gives the frames of a camera, and how they come."""
    size_wh = camera.asked_size_wh
    feeder = [sys.executable, "-m", "edgekit.runtime.sources.feeder", camera.address]
    if camera.kind == "rtsp":
        options = [f"rtsp_transport={camera.transport}", "fflags=nobuffer", f"timeout={_RTSP_TIMEOUT_US}"]
        return [*feeder, *options], HeaderFraming(pool)
    if camera.kind == "v4l2":
        asked = [f"video_size={size_wh[0]}x{size_wh[1]}", f"framerate={camera.asked_rate_hz}"]
        lock = [] if camera.exposure_us is None else [f"edgekit_exposure_us={camera.exposure_us}"]
        return [*feeder, "v4l2", *asked, *lock], HeaderFraming(pool)
    if camera.kind == "stream":
        return feeder, HeaderFraming(pool)
    return _gstreamer(camera.pipeline or _argus(camera), size_wh), RawFraming(size_wh, pool)


def _argus(camera: CameraDescription) -> str:
    """The camera on a Jetson's own connector, through NVIDIA's Argus."""
    width, height = camera.asked_size_wh
    lock = (
        f"exposuretimerange='{camera.exposure_us}000 {camera.exposure_us}000' aelock=true "
        if camera.exposure_us
        else ""
    )
    caps = f"video/x-raw(memory:NVMM),width={width},height={height},framerate={camera.asked_rate_hz}/1"
    return f"nvarguscamerasrc sensor-id={camera.address} {lock}! {caps} ! nvvidconv ! video/x-raw,format=RGBA"


def _gstreamer(pipeline: str, size_wh: tuple[int, int]) -> list[str]:
    """Raw pictures through a pipe: so pip's OpenCV, which has no GStreamer, serves."""
    if shutil.which("gst-launch-1.0") is None:
        raise MissingDependencyError(
            "gst-launch-1.0 is not there", mend="apt install gstreamer1.0-tools gstreamer1.0-plugins-good"
        )
    caps = f"video/x-raw,format=RGB,width={size_wh[0]},height={size_wh[1]}"
    end = f"! videoconvert ! videoscale ! {caps} ! fdsink fd=3 sync=false"
    return ["sh", "-c", _APART, "edgekit-camera", "gst-launch-1.0", "-q", *shlex.split(f"{pipeline} {end}")]
