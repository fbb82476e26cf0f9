"""How the made camera moves: a true position for every frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Spell:
    """A stretch of frames in which the camera moves at another speed."""

    start: int
    """First frame."""
    frames: int
    speed_px: float
    """Pixels a frame: 0 is a stop, a small value creeping, a negative one a reversal."""


@dataclass(frozen=True)
class Motion:
    """What the camera does; the defaults are a steady glide."""

    frames: int = 300
    speed_px: float = 6.3
    """Pixels a frame; negative: from the right end of the strip to the left."""
    jerk: float = 0.0
    """Standard deviation of the speed, as a share of it, changing over about ten frames."""
    spells: tuple[Spell, ...] = ()
    jitter_px: float = 0.0
    """Standard deviation of the vertical position from frame to frame."""
    drift_px: float = 0.0
    """Height of a slow vertical wave, 500 frames long."""
    roll_deg: float = 0.0
    """The camera's fixed rotation about its axis; positive: the scene appears turned clockwise."""
    sway_deg: float = 0.0
    """Height of a slow wave of the rotation, 120 frames long."""
    lost: float = 0.0
    """Share of the frames that are lost, in gaps of one to three."""
    repeated: float = 0.0
    """Share of the frames that show the one before once more, bit for bit."""
    seed: int = 0


@dataclass(frozen=True, eq=False)
class CameraPath:
    """True positions, N frames."""

    x_px: Floats
    """Strip column of the frame's left edge."""
    y_px: Floats
    """Vertical displacement from the middle of the strip."""
    roll_deg: Floats
    kept: npt.NDArray[np.bool_]
    """False where the frame is lost."""
    shows: npt.NDArray[np.intp]
    """The frame whose picture is delivered: its own number, or the one before where the camera repeats itself."""


def camera_path(motion: Motion) -> CameraPath:
    """The true path of a motion; column 0 is the leftmost place that the camera reaches."""
    rng = np.random.default_rng(motion.seed)
    number = np.arange(motion.frames)
    speed = np.full(motion.frames, motion.speed_px, np.float64)
    speed *= 1.0 + motion.jerk * _slow_noise(rng, motion.frames, 10)
    for spell in motion.spells:
        speed[spell.start : spell.start + spell.frames] = spell.speed_px
    x_px = np.concatenate(([0.0], np.cumsum(speed)))[:-1]
    y_px = motion.jitter_px * rng.standard_normal(motion.frames)
    y_px += motion.drift_px * np.sin(2 * np.pi * number / 500)
    roll_deg = motion.roll_deg + motion.sway_deg * np.sin(2 * np.pi * number / 120)
    kept = _kept(rng, motion.frames, motion.lost)
    repeats = rng.random(motion.frames) < motion.repeated
    repeats[0] = False
    shows = np.maximum.accumulate(np.where(repeats, 0, number))
    return CameraPath(x_px - x_px.min(), y_px, roll_deg, kept, shows)


def _slow_noise(rng: np.random.Generator, count: int, length: int) -> Floats:
    """Noise of standard deviation 1 that changes over about `length` frames."""
    white = rng.standard_normal(count + length)
    return np.convolve(white, np.ones(length) / np.sqrt(length), mode="valid")[:count]


def _kept(rng: np.random.Generator, count: int, lost: float) -> npt.NDArray[np.bool_]:
    kept = np.ones(count, bool)
    for start in np.flatnonzero(rng.random(count) < lost / 2):
        kept[start : start + rng.integers(1, 4)] = False
    kept[0] = True
    return kept
