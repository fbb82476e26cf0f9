"""A camera as a person describes it (TOML under runtime/cameras/)."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from edgekit.errors import SettingsError, SourceError
from edgekit.runtime.mosaic.settings import Travel
from edgekit.settings_file import read_settings

Kind = Literal["rtsp", "v4l2", "csi", "gstreamer", "stream"]

_KINDS = ("rtsp", "v4l2", "csi", "gstreamer", "stream")
_SIZE_WH, _RATE_HZ = (1280, 720), 30
_LOCKABLE = ("csi", "v4l2")
_LEAST_SIDE_PX = 16
_PROTOCOL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
"""How FFmpeg's addresses that are no files begin: tcp://, pipe:, concat:."""


_LIVE_ELEMENT = re.compile(
    r"\b(rtsp|rtp|rtmp|rist|srt|udp|tcp|ndi|souphttp|curlhttp|shm)\w*src\b"
    r"|\b(v4l2|nv|libcamera|pylon|arv|aravis|uvch264|tcam|decklink|imx|qti|zed|realsense|auto|ximage)\w*src\b"
    r"|\b(?!file:)[a-z][a-z0-9+.-]+://|\bis-live=(true|1)\b"
)
"""Elements and addresses of a pipeline that the network or a camera feeds."""


@dataclass(frozen=True)
class CameraDescription:
    """One camera on the trolley.

    Raises:
        SettingsError: what the kind needs is missing, or a value cannot be meant.
    """

    kind: Kind
    """rtsp: a network camera; v4l2: a USB camera; csi: a camera on a Jetson's own connector; gstreamer: any pipeline;
    stream: anything else that FFmpeg opens by address."""
    address: str = ""
    """rtsp, stream: the address, or the path of a file (a relative path starts at this file); v4l2: the device, for
    instance /dev/video0; csi: the number of the sensor."""
    pipeline: str = ""
    """gstreamer: elements up to raw video, without the sink."""
    size_wh: tuple[int, int] | None = None
    """What is asked of the camera, before it is turned. None: 1280 x 720; of rtsp and stream, whatever comes."""
    rate_hz: int | None = None
    """Frames a second that are asked. None: 30; of rtsp and stream, whatever comes."""
    exposure_us: int | None = None
    """csi, v4l2: locks the exposure to so many microseconds; None leaves it to the camera."""
    transport: Literal["tcp", "udp"] = "tcp"
    """rtsp: tcp loses nothing, udp suits a network that is too slow for it."""
    turn_deg: Literal[0, 90, 180, 270] = 0
    """How far the picture must be turned clockwise to stand upright: 90 or 270 for a camera mounted in portrait."""
    mirror: bool = False
    """The picture shows left and right exchanged."""
    roll_deg: float = 0.0
    """How far the row falls to the right in the upright picture, as the quality report tells it; levelled in the one
    resampling."""
    side: Literal["left", "right"] = "left"
    """Side of the trolley, as one looks ahead."""
    travel: Travel = "auto"
    """Which way the camera travels along the row, as it sees it."""
    lens: Path | None = None
    """Calibration of the lens, as `edgekit camera calibrate` writes it; a relative path starts at this file."""
    flat_field: Path | None = None
    """Picture of an evenly lit white board, as the camera gives it: evens out the fall-off towards the corners."""
    px_per_metre: float | None = None
    """Scale at the distance where the fruit hangs; None where nobody measured it."""

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise SettingsError(f"kind is {self.kind!r}", mend=f"choose {', '.join(_KINDS[:-1])} or {_KINDS[-1]}")
        wanted = "pipeline" if self.kind == "gstreamer" else "address"
        if not getattr(self, wanted):
            raise SettingsError(f"a camera of kind {self.kind} needs {wanted}")
        try:
            shlex.split(self.pipeline)
        except ValueError as error:  # a quote or an escape that is not closed
            raise SettingsError(f"pipeline: {error}: {self.pipeline}", mend="close what is quoted in it") from error
        self._check_numbers()
        if self.exposure_us is not None and self.kind not in _LOCKABLE:
            raise SettingsError(
                f"exposure_us cannot be set for a camera of kind {self.kind}",
                mend="lock the exposure in the camera's own settings, or in the pipeline",
            )
        if self.turn_deg not in (0, 90, 180, 270):
            raise SettingsError(f"turn_deg is {self.turn_deg}", mend="use 0, 90, 180 or 270; roll_deg is for less")

    def _check_numbers(self) -> None:
        size = self.size_wh
        if size is not None and (len(size) != 2 or min(size) < _LEAST_SIDE_PX):
            raise SettingsError(f"size_wh is {list(size)}", mend="write width and height, for instance [1280, 720]")
        if self.rate_hz is not None and self.rate_hz < 1:
            raise SettingsError(f"rate_hz is {self.rate_hz}", mend="write frames per second, at least 1")
        if self.exposure_us is not None and not 1 <= self.exposure_us <= 1_000_000:
            raise SettingsError(f"exposure_us is {self.exposure_us}", mend="write microseconds: 1 to 1000000")
        if not -15 <= self.roll_deg <= 15:
            raise SettingsError(f"roll_deg is {self.roll_deg}", mend="write -15 to 15; turn_deg does quarter turns")
        if self.px_per_metre is not None and not 0 < self.px_per_metre < float("inf"):
            raise SettingsError(f"px_per_metre is {self.px_per_metre}", mend="give a number above 0, or leave it out")

    @property
    def asked_size_wh(self) -> tuple[int, int]:
        """What is asked of a camera that can be asked."""
        return self.size_wh or _SIZE_WH

    @property
    def asked_rate_hz(self) -> int:
        """Frames a second that are asked of a camera that can be asked."""
        return self.rate_hz or _RATE_HZ

    @property
    def given(self) -> bool:
        """True where size and rate are the stream's own and cannot be asked for."""
        return self.kind in ("rtsp", "stream")


def is_file_address(camera: CameraDescription) -> bool:
    """Whether the address of a stream is the path of a file, and neither a URL nor a device."""
    address = camera.address
    return camera.kind == "stream" and not _PROTOCOL.match(address) and not address.startswith("/dev/")


def has_an_end(camera: CameraDescription) -> bool:
    """Whether a stream that ends by itself is over: a file, or a pipeline that reads from no camera and no network.

    A camera or server that drops also tells an end; it is started again.
    """
    if camera.kind == "gstreamer":
        return not _LIVE_ELEMENT.search(camera.pipeline)
    return is_file_address(camera)


def require_file(camera: CameraDescription) -> None:
    """Refuse a stream from a file that is not there, before a process is started for it.

    Raises:
        SourceError: there is no such file.
    """
    if is_file_address(camera) and not Path(camera.address).exists():
        raise SourceError(
            f"address: {camera.address} does not exist", mend="a relative path starts at the camera's file"
        )


def read_camera(path: Path) -> CameraDescription:
    """The description in a TOML file; its paths start at the file's folder.

    Raises:
        SettingsError: the file cannot be read or used, or a file that it names is missing.
    """
    return placed(read_settings(path, CameraDescription), path)


def placed(camera: CameraDescription, file: Path) -> CameraDescription:
    """The description with its paths taken from the folder of the file that it stands in.

    Raises:
        SettingsError: a file that it names is missing.
    """
    if is_file_address(camera):
        camera = replace(camera, address=str(file.parent / camera.address))
    for key in ("lens", "flat_field"):
        named: Path | None = getattr(camera, key)
        if named is None:
            continue
        found = file.parent / named
        if not found.is_file():
            raise SettingsError(f"{file}: {key} = {str(named)!r}: {found} is not there")
        camera = replace(camera, **{key: found})  # type: ignore[arg-type]
    return camera
