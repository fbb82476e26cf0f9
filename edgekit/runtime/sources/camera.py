"""Cameras as a person describes them (TOML under runtime/cameras/), and the source of each kind."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from edgekit.contracts import Image
from edgekit.errors import MissingDependencyError, SettingsError
from edgekit.runtime.mosaic.settings import Travel
from edgekit.runtime.sources.feed import Feed
from edgekit.runtime.sources.framing import Framing, HeaderFraming, RawFraming
from edgekit.runtime.sources.live import LiveSettings, LiveSource

Kind = Literal["rtsp", "v4l2", "csi", "gstreamer", "stream"]


@dataclass(frozen=True)
class CameraDescription:
    """One camera on the trolley.

    Raises:
        SettingsError: what the kind needs is missing.
    """

    kind: Kind
    """rtsp: a network camera; v4l2: a USB camera; csi: a camera on a Jetson's own connector; gstreamer: any pipeline;
    stream: anything else that FFmpeg opens by address."""
    address: str = ""
    """rtsp, stream: the address; v4l2: the device, for instance /dev/video0; csi: the number of the sensor."""
    pipeline: str = ""
    """gstreamer: elements up to raw video, without the sink."""
    size_wh: tuple[int, int] = (1280, 720)
    """What is asked of the camera, before it is turned."""
    rate_hz: int = 30
    exposure_us: int | None = None
    """csi: locks the exposure to so many microseconds; None leaves it to the camera."""
    turn_deg: Literal[0, 90, 180, 270] = 0
    """How far the picture must be turned clockwise to stand upright."""
    mirror: bool = False
    """The picture shows left and right exchanged."""
    side: Literal["left", "right"] = "left"
    """Side of the trolley, as one looks ahead."""
    travel: Travel = "auto"
    """Which way the row passes, as the camera sees it."""

    def __post_init__(self) -> None:
        wanted = "pipeline" if self.kind == "gstreamer" else "address"
        if self.kind not in ("rtsp", "v4l2", "csi", "gstreamer", "stream"):
            raise SettingsError(f"kind is {self.kind!r}", mend="choose rtsp, v4l2, csi, gstreamer or stream")
        if not getattr(self, wanted):
            raise SettingsError(f"a camera of kind {self.kind} needs {wanted}")
        if self.rate_hz < 1 or min(self.size_wh) < 16:
            raise SettingsError(f"no camera gives {self.size_wh[0]} x {self.size_wh[1]} at {self.rate_hz} per second")


def open_camera(camera: CameraDescription, *, settings: LiveSettings | None = None) -> LiveSource:
    """The source for a camera; it is started when its frames are asked for.

    Raises:
        MissingDependencyError: GStreamer's tools are not installed.
    """
    command, framing = _command(camera)

    def start() -> Feed:
        return Feed(command, framing)

    name = camera.pipeline if camera.kind == "gstreamer" else f"{camera.kind} {camera.address}"
    return LiveSource(name, start, settings=settings, turn=_turn(camera))


def _command(camera: CameraDescription) -> tuple[list[str], Framing]:
    """The process that gives the frames of a camera, and how they come."""
    width, height = camera.size_wh
    feeder = [sys.executable, "-m", "edgekit.runtime.sources.feeder", camera.address]
    if camera.kind == "rtsp":
        return [*feeder, "rtsp_transport=tcp", "fflags=nobuffer", "timeout=3000000"], HeaderFraming()
    if camera.kind == "v4l2":
        size = f"video_size={width}x{height}"
        return [*feeder, "v4l2", size, f"framerate={camera.rate_hz}"], HeaderFraming()
    if camera.kind == "stream":
        return feeder, HeaderFraming()
    return _gstreamer(camera.pipeline or _argus(camera), camera.size_wh), RawFraming(camera.size_wh)


def _argus(camera: CameraDescription) -> str:
    """The camera on a Jetson's own connector, through NVIDIA's Argus."""
    width, height = camera.size_wh
    lock = (
        f"exposuretimerange='{camera.exposure_us}000 {camera.exposure_us}000' aelock=true "
        if camera.exposure_us
        else ""
    )
    caps = f"video/x-raw(memory:NVMM),width={width},height={height},framerate={camera.rate_hz}/1"
    return f"nvarguscamerasrc sensor-id={camera.address} {lock}! {caps} ! nvvidconv ! video/x-raw,format=RGBA"


def _gstreamer(pipeline: str, size_wh: tuple[int, int]) -> list[str]:
    """Raw pictures through a pipe: so pip's OpenCV, which has no GStreamer, serves."""
    if shutil.which("gst-launch-1.0") is None:
        raise MissingDependencyError(
            "gst-launch-1.0 is not there", mend="apt install gstreamer1.0-tools gstreamer1.0-plugins-good"
        )
    caps = f"video/x-raw,format=RGB,width={size_wh[0]},height={size_wh[1]}"
    end = f"! videoconvert ! videoscale ! {caps} ! fdsink fd=1 sync=false"
    return ["gst-launch-1.0", "-q", *shlex.split(f"{pipeline} {end}")]


def _turn(camera: CameraDescription) -> Callable[[Image], Image] | None:
    if not camera.turn_deg and not camera.mirror:
        return None

    def turn(image: Image) -> Image:
        upright = np.rot90(image, -camera.turn_deg // 90)
        return upright[:, ::-1] if camera.mirror else upright

    return turn
