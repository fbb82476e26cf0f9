"""What the frames and their positions say of the camera and the trolley, with warnings that a person can act on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import cv2
import numpy as np

from edgekit.contracts import Image
from edgekit.runtime.panorama.lens_dirt import LensDirt
from edgekit.runtime.records import FrameRecord
from edgekit.wording import counted

_LOOK_EVERY = 10
"""Frames between two that are looked at: brightness, focus and dirt change slowly."""
_SMALL_WIDTH_PX = 320
_DARK_GREY = 40.0
_BLURRED = 0.12
"""Share of the contrast that is finer than 1.5 px of a frame 320 px wide. Three greenhouses: 0.20, 0.31, 0.37 sharp;
0.10 to 0.20 with a blur of 4 px, 0.04 to 0.10 with 8 px."""
_DIRT_SHARE = 0.004
_FAST_SHARE = 0.25
_BAD_SHARE = 0.1
_STEP = 0.1
"""Logarithm of the brightness by which it jumps between two frames when the exposure steps."""
_STEPS_KEPT = 50
_ROLLED_DEG = 1.0
_SIDEWAYS_DEG = 15.0
"""Beyond it no rail is that oblique: the picture lies on its side, or the row was not followed."""
_WANDERS_SHARE = 0.15
"""Of the height; 0.06 in a good row of 41 hand-held frames."""
UNSURE = 0.3
"""Median confidence of positions that mean little: 0.5 to 0.9 in rows that were followed, 0.2 where pictures that pass
from top to bottom were taken for a row."""
_HARDLY_SHARE = 0.1
_MOSTLY_SHARE = 0.5


@dataclass(frozen=True)
class Quality:
    """The figures behind the warnings."""

    statuses: dict[str, int]
    """Frames by what became of them."""
    speed_px: float | None
    """Median advance between placed frames; None where nothing moved."""
    speed_px_s: float | None
    """The same a second; None where the frames' times do not tell."""
    fastest_px: float | None
    median_confidence: float | None
    drift_px: float | None
    """Range of the measured vertical position."""
    brightness: float | None
    """Mean grey level, 0 to 255."""
    fineness: float | None
    """Share of the contrast in fine detail; low where the camera is out of focus."""
    roll_deg: float | None
    """Rotation of the camera about its axis, by how the row climbs in the frames; positive: it falls to the right."""
    exposure_steps: tuple[tuple[int, float], ...]
    """(number of the frame as it was seen, times brighter than the one before) of jumps; at most 50 are kept."""
    dirt: float | None
    """Share of the picture that stands still while the row moves; None after too few looks."""
    warnings: tuple[str, ...]


class QualityWatch:
    """Gathers figures while a row is built, with constant memory but for three numbers a frame."""

    def __init__(self) -> None:
        self._statuses: Counter[str] = Counter()
        self._advances: list[float] = []
        self._confidences: list[float] = []
        self._y_range = (np.inf, -np.inf)
        self._last_x_px: float | None = None
        self._last_y_px = 0.0
        self._last_time_s = 0.0
        self._speeds: list[float] = []
        self.width_px = 0
        """Of the frames; 0 before the first."""
        self._height_px = 0
        self._frames = 0
        self._sums = np.zeros(2)
        self._last_grey: float | None = None
        self._steps: list[tuple[int, float]] = []
        self._brightness: list[float] = []
        self._fineness: list[float] = []
        self._dirt = LensDirt()

    def see(self, image: Image) -> None:
        """Look at a frame, now and then."""
        self._height_px, self.width_px = image.shape[:2]
        self._frames += 1
        self._watch_exposure(float(image[::16, ::16].mean()))
        if (self._frames - 1) % _LOOK_EVERY:
            return
        scale = _SMALL_WIDTH_PX / image.shape[1]
        small = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        grey = cv2.cvtColor(small, cv2.COLOR_RGB2GRAY).astype(np.float32)
        self._brightness.append(float(grey.mean()))
        fine = grey - cv2.GaussianBlur(grey, (0, 0), 1.5)
        self._fineness.append(float(fine.std() / max(grey.std(), 1.0)))
        if self._last_x_px is not None:
            self._dirt.see(grey, self._last_x_px / self.width_px)

    def note(self, record: FrameRecord) -> None:
        """Take what became of a frame."""
        self._statuses[record.status] += 1
        if record.x_px is None or record.y_px is None or record.confidence is None:
            return
        if self._last_x_px is not None and record.status == "placed":
            across, down = record.x_px - self._last_x_px, record.y_px - self._last_y_px
            self._advances.append(abs(across))
            if record.time_s > self._last_time_s:
                self._speeds.append(abs(across) / (record.time_s - self._last_time_s))
            self._sums += (across * across, across * down)
        self._last_x_px, self._last_y_px, self._last_time_s = record.x_px, record.y_px, record.time_s
        self._confidences.append(record.confidence)
        self._y_range = (min(self._y_range[0], record.y_px), max(self._y_range[1], record.y_px))

    def result(self) -> Quality:
        """The figures so far."""
        quality = Quality(
            statuses=dict(self._statuses),
            speed_px=_median(self._advances),
            speed_px_s=_median(self._speeds),
            fastest_px=max(self._advances, default=None),
            median_confidence=_median(self._confidences),
            drift_px=self._y_range[1] - self._y_range[0] if self._confidences else None,
            brightness=_median(self._brightness),
            fineness=_median(self._fineness),
            roll_deg=float(np.degrees(np.arctan(self._sums[1] / self._sums[0]))) if self._sums[0] else None,
            exposure_steps=tuple(self._steps),
            dirt=self._dirt.share,
            warnings=(),
        )
        return replace(quality, warnings=_warnings(quality, (self.width_px, self._height_px)))

    def _watch_exposure(self, grey: float) -> None:
        """Keep jumps of the brightness from frame to frame."""
        last, self._last_grey = self._last_grey, grey
        if last and grey and abs(np.log(grey / last)) > _STEP and len(self._steps) < _STEPS_KEPT:
            self._steps.append((self._frames - 1, round(grey / last, 3)))


def good_values(height_px: int) -> dict[str, str]:
    """What the figures are like in a row that can be relied on, in words.

    Args:
        height_px: of the frames.
    """
    return {
        "fastest_px": "below a quarter of the frame's width",
        "median_confidence": f"above 0.5; below {UNSURE:g} positions are unsure",
        "drift_px": f"below {_WANDERS_SHARE * height_px:.0f} px",
        "roll_deg": f"within {_ROLLED_DEG:g} degree",
        "overlap_residual_grey": "below 20; above 40 neighbours do not show the same",
        "brightness": f"above {_DARK_GREY:g}, about 100",
        "fineness": f"above {_BLURRED:g}",
        "dirt": f"below {_DIRT_SHARE:g}",
    }


def _median(values: list[float]) -> float | None:
    return float(np.median(values)) if values else None


def _warnings(quality: Quality, size_wh: tuple[int, int]) -> tuple[str, ...]:
    """What a person can do something about: how the row was followed, then what the pictures are like."""
    return (*_of_the_whole(quality), *_of_the_movement(quality, size_wh), *_of_the_light(quality))


def _of_the_whole(quality: Quality) -> list[str]:
    """What became of the frames, where many were not placed."""
    said = []
    statuses = quality.statuses
    frames = max(sum(statuses.values()), 1)
    bridged, dropped, reversed_ = (statuses.get(fate, 0) / frames for fate in ("bridged", "dropped", "reversed"))
    placed = statuses.get("placed", 0)
    if bridged > _MOSTLY_SHARE and placed <= max(1, _HARDLY_SHARE * frames):
        said.append(
            f"{placed} of {frames} frames could be placed: neighbours have nothing in common - push slower or raise the"
            " frame rate; single pictures, each a row of its own? use --panorama of edgekit run"
        )
    if reversed_ > _MOSTLY_SHARE:
        said.append(
            f"{100 * reversed_:.0f} % of the frames go back behind the furthest point and gave nothing - does the"
            " camera travel the other way? set travel to auto, left or right"
        )
    if bridged > _BAD_SHARE:
        said.append(f"{100 * bridged:.0f} % of the frames were bridged - see quality.html and offsets.csv")
    if dropped > _BAD_SHARE:
        said.append(f"{100 * dropped:.0f} % of the frames could not be used - see offsets.csv for why")
    if frames > 1 and placed <= 1 and max(bridged, reversed_) <= _MOSTLY_SHARE:
        said.append("nothing moved: the panorama is one frame wide - did the trolley ride?")
    return said


def _of_the_movement(quality: Quality, size_wh: tuple[int, int]) -> list[str]:
    said = []
    width_px, height_px = size_wh
    if quality.fastest_px is not None and quality.fastest_px > _FAST_SHARE * width_px:
        said.append(
            f"too fast for the frame rate: up to {quality.fastest_px:.0f} px a frame of {width_px} px"
            " - push slower, or raise the frame rate"
        )
    roll_deg = abs(quality.roll_deg or 0.0)
    if roll_deg > _SIDEWAYS_DEG:
        said.append(
            f"the scene moves up or down, {roll_deg:.0f} degrees off the row - set the picture upright by turn_deg"
            " of the camera (--camera)"
        )
    elif roll_deg > _ROLLED_DEG:
        said.append(f"the camera is turned by {quality.roll_deg:.1f} degrees against the rail - level it")
    if quality.drift_px is not None and quality.drift_px > _WANDERS_SHARE * max(height_px, 1):
        said.append(
            f"the row wanders by {quality.drift_px:.0f} px up and down in pictures {height_px} px high - level camera"
            " and rail"
        )
    if quality.median_confidence is not None and quality.median_confidence < UNSURE:
        said.append(
            f"positions are unsure: median confidence {quality.median_confidence:.2f} - is the band where the fruit"
            " hangs, and in focus?"
        )
    return said


def _of_the_light(quality: Quality) -> list[str]:
    said = []
    if quality.exposure_steps:
        said.append(f"the exposure jumped {counted(len(quality.exposure_steps), 'time')} - lock it")
    if quality.brightness is not None and quality.brightness < _DARK_GREY:
        said.append(f"too dark: mean grey {quality.brightness:.0f} of 255 - open the exposure or bring light")
    if quality.fineness is not None and quality.fineness < _BLURRED:
        said.append(f"out of focus or blurred by motion: fine detail {quality.fineness:.2f} - focus, or expose shorter")
    if quality.dirt is not None and quality.dirt > _DIRT_SHARE:
        said.append(f"{100 * quality.dirt:.1f} % of the picture stand still while the row moves - clean the lens")
    return said
