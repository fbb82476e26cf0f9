"""Coverage on real predictions: tiles are drawn with replacement from a labelled set whose own fit is the truth.

    python bench/calibration/real_tiles.py pairs.csv          (from predict_pairs.py)
    python bench/calibration/real_tiles.py pairs.csv --halves  half splits by picture: do the two thresholds agree?

The tables are read as in coverage.py.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from coverage import bounds_of, summarise, table
from simulate import Cell

from edgekit.calibration import CalibrationRefused, FitSettings, Pairs, fit_threshold
from edgekit.calibration.bootstrap import draw_weights
from edgekit.calibration.compare import welch
from edgekit.calibration.moments import GroupSums, moments_of, sums_by
from edgekit.calibration.regression import fit_line, solve
from edgekit.calibration.table import read_pairs

CHUNK = 500


@dataclass(frozen=True)
class HalvesResult:
    """Half splits by picture."""

    splits: int
    refused: int
    """Splits of which a half was refused."""
    pictures: int
    share: float
    """|x_A - x_B| <= 1.96 sqrt(s_A^2 + s_B^2), s = `sigma_t`: the bootstrap over pictures, and Student's t because they
    are few. Of the splits in which both halves gave a threshold."""
    share_plain: float
    """The same without Student's t."""
    share_tiles: float
    """The same without Student's t and with the tile as unit, as if tiles of one picture were independent."""
    share_welch: float
    """p >= 0.05 by `compare`, which knows that the units are few."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--iou", type=float, default=0.5)
    parser.add_argument("--tiles", type=int, nargs="+", default=[10, 20, 40])
    parser.add_argument("--sessions", type=int, default=4_000)
    parser.add_argument("--draws", type=int, default=999)
    parser.add_argument("--halves", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    pairs = read_pairs(arguments.pairs)
    if arguments.halves:
        print(json.dumps(asdict(half_splits(pairs, arguments.iou)), indent=1))
        return
    results = [study(pairs, arguments.iou, tiles, arguments.sessions, arguments.draws) for tiles in arguments.tiles]
    print(json.dumps(results, default=vars, indent=1) if arguments.json else table(results))


def study(pairs: Pairs, iou_target: float, tiles: int, sessions: int, draws: int):  # noqa: ANN201
    """Coverage of the threshold of all tiles by sessions of some of them."""
    sums = sums_by(pairs, pairs.by_tile)
    moments = moments_of(pairs.confidence, pairs.iou)
    truth = float(solve(fit_line(moments), iou_target))
    r = float(np.corrcoef(pairs.confidence, pairs.iou)[0, 1])
    cell = RealCell(round(len(pairs) / sums.groups * tiles), r, 0.0, truth, iou_target)
    rng, weights, chunks = np.random.default_rng(tiles), draw_weights(tiles, draws, 0), []
    for start in range(0, sessions, CHUNK):
        size = min(CHUNK, sessions - start)
        drawn = np.moveaxis(sums.sums[:, rng.integers(0, sums.groups, (size, tiles))], 0, 1)
        session = GroupSums(np.full(size, sums.centre_x), np.full(size, sums.centre_y), drawn)
        ends = (np.full(size, pairs.confidence.min()), np.full(size, pairs.confidence.max()))
        chunks.append(bounds_of(session, cell, weights, ends))
    return summarise(cell, tiles, chunks)


@dataclass(frozen=True)
class RealCell(Cell):
    """A design whose truth is known from the data."""

    truth: float = 0.0
    target: float = 0.5

    @property
    def true_threshold(self) -> float:
        return self.truth

    @property
    def iou_target(self) -> float:
        return self.target


def half_splits(pairs: Pairs, iou_target: float, splits: int = 200) -> HalvesResult:
    """Random halves of the pictures, both fitted."""
    pictures = np.asarray(pairs.by_unit.names)[pairs.by_unit.codes]
    names, rng = np.unique(pictures), np.random.default_rng(0)
    settings = FitSettings(draws=999)
    refused = agree_welch = 0
    agree = np.zeros(3)
    for _ in range(splits):
        first = np.isin(pictures, rng.permutation(names)[: len(names) // 2])
        try:
            a, b = (fit_threshold(pairs.select(half), iou_target, settings=settings) for half in (first, ~first))
        except CalibrationRefused:
            refused += 1
            continue
        c, d = (fit_threshold(by_tile(pairs.select(half)), iou_target, settings=settings) for half in (first, ~first))
        difference = a.threshold - b.threshold
        errors = (a.uncertainty.sigma_units, a.units), (b.uncertainty.sigma_units, b.units)
        sigmas = ((a.uncertainty.sigma_t, b.uncertainty.sigma_t), (errors[0][0], errors[1][0]),
                  (c.uncertainty.sigma_units, d.uncertainty.sigma_units))  # fmt: skip
        agree += [abs(difference) <= 1.96 * np.hypot(*pair) for pair in sigmas]
        agree_welch += welch(difference, *errors)[2] >= 0.05
    both = max(splits - refused, 1)
    return HalvesResult(splits, refused, len(names), *(agree / both).tolist(), float(agree_welch / both))


def by_tile(pairs: Pairs) -> Pairs:
    """The same pairs with the tile as unit."""
    return Pairs(pairs.confidence, pairs.iou, pairs.tile)


if __name__ == "__main__":
    main()
