"""Simulated sessions: independent pairs, and pairs that are alike within a tile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgekit.calibration.moments import GroupSums
from edgekit.calibration.pairs import Floats

MEAN_X, SD_X, SLOPE, MEAN_Y = 0.5, 0.15, 0.8, 0.6
"""Scale of the simulation; coverage does not depend on it."""


@dataclass(frozen=True)
class Cell:
    """One design."""

    n: int
    """Pairs a session."""
    r: float
    """Correlation of confidence and IoU."""
    below_mean: float
    """How many standard deviations of x the true threshold lies below its mean."""

    @property
    def true_threshold(self) -> float:
        return MEAN_X - self.below_mean * SD_X

    @property
    def iou_target(self) -> float:
        return MEAN_Y + SLOPE * (self.true_threshold - MEAN_X)

    @property
    def residual_sd(self) -> float:
        return SLOPE * SD_X * float(np.sqrt(1 / self.r**2 - 1))


def draw_independent(cell: Cell, sessions: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """x and y, sessions x n; x normal."""
    x = MEAN_X + SD_X * rng.standard_normal((sessions, cell.n))
    y = MEAN_Y + SLOPE * (x - MEAN_X) + cell.residual_sd * rng.standard_normal((sessions, cell.n))
    return x, y


def draw_tiles(
    cell: Cell, tiles: int, alike: float, sessions: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """x, y and a 0/1 mask, sessions x tiles x largest tile; `cell.n` pairs a tile on average (1 + Poisson).

    `alike` is the correlation of two residuals of one tile; confidences of one tile correlate by 0.2.
    """
    counts = rng.poisson(cell.n - 1, (sessions, tiles)) + 1
    shape = (sessions, tiles, int(counts.max()))
    seen = (np.arange(shape[2]) < counts[..., None]).astype(np.float64)

    def correlated(share: float) -> Floats:
        common = rng.standard_normal((sessions, tiles, 1))
        return np.sqrt(share) * common + np.sqrt(1 - share) * rng.standard_normal(shape)

    x = MEAN_X + SD_X * correlated(0.2)
    return x, MEAN_Y + SLOPE * (x - MEAN_X) + cell.residual_sd * correlated(alike), seen


def tile_sums(x: Floats, y: Floats, seen: Floats) -> GroupSums:
    """Sums of simulated tiles; the last axis of x, y and seen is the pair within its tile."""
    u, v = (x - MEAN_X) * seen, (y - MEAN_Y) * seen
    sums = np.stack([(column).sum(axis=-1) for column in (seen, u, v, u * u, u * v, v * v)], axis=-2)
    leading = x.shape[:-2]
    return GroupSums(np.full(leading, MEAN_X), np.full(leading, MEAN_Y), sums)
