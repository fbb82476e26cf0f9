"""Whether a camera is fit to ride: it is opened for some seconds and looked at."""

from __future__ import annotations

import time
from dataclasses import dataclass

import cv2
import numpy as np

from edgekit.contracts import Image
from edgekit.errors import SourceError
from edgekit.runtime.panorama.quality import QualityWatch
from edgekit.runtime.sources.hints import hint_for
from edgekit.runtime.sources.live import LiveSource

_DARK, _BRIGHT = 8, 247
_CLIPPED_SHARE = 0.05


@dataclass(frozen=True)
class CameraCheck:
    """What a camera gave."""

    frames: int
    seconds: float
    """From the first frame to the last."""
    size_wh: tuple[int, int]
    """As delivered, upright."""
    rate_hz: float | None
    """Frames a second that the camera gives, those that were not seen included; None where too few came."""
    first_frame_s: float
    """From the start to the first frame."""
    dropped: int
    """Frames that came and gave way to newer ones."""
    missing: int
    """Numbers of frames that were not seen: dropped, or lost in an outage."""
    longest_pause_s: float
    """Between two frames."""
    brightness: float | None
    """Mean grey level, 0 to 255."""
    dark_share: float
    """Pixels that are black."""
    bright_share: float
    """Pixels that are blown out."""
    sharpness: float | None
    """Share of the contrast in fine detail; low where the camera is out of focus."""
    warnings: tuple[str, ...]


def check_camera(source: LiveSource, seconds: float) -> tuple[CameraCheck, Image]:
    """Read a camera for some seconds; what it gave, and its last picture.

    Raises:
        SourceError: it gave no frame.
    """
    began_s = time.monotonic()
    watch, times_s, last, first_number = QualityWatch(), [], None, 0
    source.end_after(seconds)
    for frame in source:
        if last is None:
            first_number = frame.sequence
        times_s.append(frame.time_s)
        watch.see(frame.image)
        last = frame
    if last is None:
        known = "; ".join(source.faults)
        raise SourceError(f"{source.name} gave no frame ({known})", mend=hint_for(known).mend)
    quality, spent_s = watch.result(), times_s[-1] - times_s[0]
    height, width = last.image.shape[:2]
    grey = cv2.cvtColor(last.image, cv2.COLOR_RGB2GRAY)
    dark, bright = float(np.mean(grey < _DARK)), float(np.mean(grey > _BRIGHT))
    found = CameraCheck(
        frames=len(times_s),
        seconds=spent_s,
        size_wh=(width, height),
        rate_hz=(last.sequence - first_number) / spent_s if spent_s > 0 else None,
        first_frame_s=times_s[0] - began_s,
        dropped=source.dropped,
        missing=last.sequence - first_number + 1 - len(times_s),
        longest_pause_s=float(np.diff(times_s).max()) if len(times_s) > 1 else spent_s,
        brightness=quality.brightness,
        dark_share=dark,
        bright_share=bright,
        sharpness=quality.fineness,
        warnings=(*source.faults, *quality.warnings, *_clipped(dark, bright)),
    )
    return found, last.image


def _clipped(dark: float, bright: float) -> list[str]:
    said = []
    if bright > _CLIPPED_SHARE:
        said.append(f"{100 * bright:.0f} % of the picture are blown out - expose shorter")
    if dark > _CLIPPED_SHARE:
        said.append(f"{100 * dark:.0f} % of the picture are black - expose longer or bring light")
    return said
