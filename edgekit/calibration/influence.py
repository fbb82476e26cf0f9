"""What each tile does to the threshold, and which tiles look as if fruit in them was not labelled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgekit.calibration.moments import sums_by
from edgekit.calibration.pairs import Pairs
from edgekit.calibration.regression import fit_line, solve
from edgekit.calibration.settings import FitSettings


@dataclass(frozen=True)
class TileInfluence:
    """One tile."""

    tile: str
    pairs: int
    threshold_without: float
    """The threshold with this tile left out; NaN where the rest has no rising line."""
    shift: float
    """threshold - threshold_without: how far this tile moves it."""
    suspects: int
    """Confident predictions that overlap no label: fruit that nobody labelled, or sure mistakes."""


def suspect_rows(pairs: Pairs, settings: FitSettings) -> npt.NDArray[np.bool_]:
    """bool, n: predictions so confident that a label would be expected, with next to no overlap with one."""
    confident = pairs.confidence >= settings.suspect_confidence
    suspects: npt.NDArray[np.bool_] = confident & (pairs.iou < settings.suspect_iou)
    return suspects


def influence_of_tiles(pairs: Pairs, iou_target: float, settings: FitSettings) -> tuple[TileInfluence, ...]:
    """Every tile, the largest shift first; equal shifts in the order of names."""
    sums = sums_by(pairs, pairs.by_tile)
    threshold = float(solve(fit_line(sums.total()), iou_target))
    line = fit_line(sums.without_each())
    without = np.where(line.b1 > 0, solve(line, iou_target), np.nan)
    names, codes = pairs.by_tile
    tiles = len(names)
    counts = np.bincount(codes, minlength=tiles)
    suspects = np.bincount(codes, weights=suspect_rows(pairs, settings), minlength=tiles)
    rows = [
        TileInfluence(name, int(counts[i]), float(without[i]), threshold - float(without[i]), int(suspects[i]))
        for i, name in enumerate(names)
    ]
    return tuple(sorted(rows, key=lambda row: (-_size(row.shift), row.tile)))


def _size(shift: float) -> float:
    return float("inf") if np.isnan(shift) else abs(shift)
