"""What the frames and their positions say of the camera and the trolley, with warnings that a person can act on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import cv2
import numpy as np

from edgekit.contracts import FloatArray, Image
from edgekit.runtime.records import FrameRecord

_LOOK_EVERY = 10
"""Frames between two that are looked at: brightness, focus and dirt change slowly."""
_SMALL_WIDTH_PX = 320
_DARK_GREY = 40.0
_BLURRED = 0.12
"""Share of the contrast that is finer than 1.5 px of a frame 320 px wide. Three greenhouses: 0.20, 0.31, 0.37 sharp;
0.10 to 0.20 with a blur of 4 px, 0.04 to 0.10 with 8 px."""
_DIRT_GREY = 8.0
_CHANCE = 4.0
"""Standard deviations of the mean of a moving scene beyond which a pixel stands still."""
_DIRT_SHARE = 0.004
_DIRT_LOOKS = 20
"""Looks that are averaged before dirt is spoken of: a moving scene averages out, dirt does not."""
_FAST_SHARE = 0.25
_BAD_SHARE = 0.1
_STEP = 0.1
"""Logarithm of the brightness by which it jumps between two frames when the exposure steps."""
_STEPS_KEPT = 50
_ROLLED_DEG = 1.0


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
        self._frames = 0
        self._sums = np.zeros(2)
        self._last_grey: float | None = None
        self._steps: list[tuple[int, float]] = []
        self._brightness: list[float] = []
        self._fineness: list[float] = []
        self._still: FloatArray | None = None
        self._looks = 0
        self._power = 0.0
        self._looked_at_px: float | None = None

    def see(self, image: Image) -> None:
        """Look at a frame, now and then."""
        self.width_px = image.shape[1]
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
        self._average(grey)

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
        dirt = None
        if self._still is not None and self._looks >= _DIRT_LOOKS:
            chance = _CHANCE * np.sqrt(self._power / self._looks)
            dirt = float(np.mean(np.abs(self._still) > max(_DIRT_GREY, chance)))
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
            dirt=dirt,
            warnings=(),
        )
        return Quality(**{**quality.__dict__, "warnings": _warnings(quality, self.width_px)})

    def _watch_exposure(self, grey: float) -> None:
        """Keep jumps of the brightness from frame to frame."""
        last, self._last_grey = self._last_grey, grey
        if last and grey and abs(np.log(grey / last)) > _STEP and len(self._steps) < _STEPS_KEPT:
            self._steps.append((self._frames - 1, round(grey / last, 3)))

    def _average(self, grey: FloatArray) -> None:
        """Mean of what differs from left and right, over looks between which the row has moved on."""
        if self._last_x_px is None:
            return
        if self._looked_at_px is not None and abs(self._last_x_px - self._looked_at_px) < 0.05 * self.width_px:
            return
        self._looked_at_px = self._last_x_px
        across = grey - cv2.blur(grey, (31, 1))
        self._looks += 1
        self._power += (float(np.mean(across**2)) - self._power) / self._looks
        last = across if self._still is None else self._still
        self._still = np.asarray(last + (across - last) / self._looks, np.float32)


def _median(values: list[float]) -> float | None:
    return float(np.median(values)) if values else None


def _warnings(quality: Quality, width_px: int) -> tuple[str, ...]:
    """What a person can do something about."""
    said = []
    frames = max(sum(quality.statuses.values()), 1)
    bridged, dropped = (quality.statuses.get(status, 0) / frames for status in ("bridged", "dropped"))
    if quality.fastest_px is not None and quality.fastest_px > _FAST_SHARE * width_px:
        said.append(
            f"too fast for the frame rate: up to {quality.fastest_px:.0f} px a frame of {width_px} px"
            " - push slower, or raise the frame rate"
        )
    if quality.roll_deg is not None and abs(quality.roll_deg) > _ROLLED_DEG:
        said.append(f"the camera is turned by {quality.roll_deg:.1f} degrees against the rail - level it")
    if quality.exposure_steps:
        said.append(f"the exposure jumped {len(quality.exposure_steps)} times - lock it")
    if quality.brightness is not None and quality.brightness < _DARK_GREY:
        said.append(f"too dark: mean grey {quality.brightness:.0f} of 255 - open the exposure or bring light")
    if quality.fineness is not None and quality.fineness < _BLURRED:
        said.append(f"out of focus or blurred by motion: fine detail {quality.fineness:.2f} - focus, or expose shorter")
    if quality.dirt is not None and quality.dirt > _DIRT_SHARE:
        said.append(f"{100 * quality.dirt:.1f} % of the picture stand still while the row moves - clean the lens")
    if bridged > _BAD_SHARE:
        said.append(f"{100 * bridged:.0f} % of the frames were bridged - see quality.html and offsets.csv")
    if dropped > _BAD_SHARE:
        said.append(f"{100 * dropped:.0f} % of the frames could not be used - see offsets.csv for why")
    return tuple(said)
