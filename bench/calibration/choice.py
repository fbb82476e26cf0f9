"""Chosen predictions against random tiles at the same number of drawn polygons.

    python bench/calibration/choice.py pairs.csv [--polygons 40 80]      (from predict_pairs.py)

The truth is the fit on all pairs. `tiles`: tiles in random order until the polygons are drawn, every fruit in them.
`marks`: `choose_predictions`, what `edgekit calibrate sample` does; a polygon is drawn for every label that a chosen
prediction overlaps best. `whole`: `choose_tiles`. The order of tiles is shuffled in every repeat, since these sets
have no rows.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from edgekit.calibration.choose import choose_predictions, choose_tiles
from edgekit.calibration.moments import moments_of
from edgekit.calibration.pairs import Floats
from edgekit.calibration.regression import fit_line, solve
from edgekit.calibration.table import read_pairs

Rows = np.typing.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Pool:
    """A labelled set."""

    confidence: Floats
    iou: Floats
    tile: Rows
    label: Rows
    """Number of the best label, -1 where a prediction overlaps none."""
    tile_labels: Floats
    """Labels of each tile: the polygons that it costs."""

    def threshold(self, rows: Rows, iou_target: float) -> float:
        return float(solve(fit_line(moments_of(self.confidence[rows], self.iou[rows])), iou_target))

    def polygons(self, rows: Rows) -> int:
        return len(np.unique(self.label[rows][self.label[rows] >= 0]))


@dataclass(frozen=True)
class ChoiceResult:
    """One budget."""

    polygons: int
    repeats: int
    rmse_random: float
    rmse_marks: float
    ratio_marks: float
    ratio_marks_low: float
    ratio_marks_high: float
    """95 % interval of the ratio, bootstrap over repeats."""
    bias_marks: float
    rmse_whole: float
    ratio_whole: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--polygons", type=int, nargs="+", default=[40, 80])
    parser.add_argument("--iou", type=float, default=0.5)
    parser.add_argument("--repeats", type=int, default=200)
    arguments = parser.parse_args()
    pool = read_pool(arguments.pairs)
    for polygons in arguments.polygons:
        print(json.dumps(asdict(study(pool, arguments.iou, polygons, arguments.repeats))))


def study(pool: Pool, iou_target: float, polygons: int, repeats: int) -> ChoiceResult:
    """Errors of all strategies, the same seeds for each."""
    truth = pool.threshold(np.arange(len(pool.confidence)), iou_target)

    def errors(choose: Callable[[Pool, int, np.random.Generator], Rows]) -> Floats:
        rngs = (np.random.default_rng((7, repeat)) for repeat in range(repeats))
        return np.array([pool.threshold(choose(pool, polygons, rng), iou_target) - truth for rng in rngs])

    random, marks, whole = errors(random_tiles), errors(marked), errors(whole_tiles)
    drawn = np.random.default_rng(0).integers(0, repeats, (4000, repeats))
    ratios = np.sqrt((marks[drawn] ** 2).mean(axis=1) / (random[drawn] ** 2).mean(axis=1))
    low, high = np.quantile(ratios, [0.025, 0.975])
    return ChoiceResult(
        polygons, repeats, _rms(random), _rms(marks), _rms(marks) / _rms(random), float(low), float(high),
        float(marks.mean()), _rms(whole), _rms(whole) / _rms(random),
    )  # fmt: skip


def random_tiles(pool: Pool, polygons: int, rng: np.random.Generator) -> Rows:
    """Tiles in random order, as many as the polygons allow."""
    return rows_of_tiles(pool, rng.permutation(len(pool.tile_labels)), polygons)


def whole_tiles(pool: Pool, polygons: int, rng: np.random.Generator) -> Rows:
    """`choose_tiles`, drawn in random order until the polygons are used up."""
    place = rng.permutation(len(pool.tile_labels))[pool.tile]
    tile_at = np.zeros(len(pool.tile_labels), np.intp)
    tile_at[place] = pool.tile
    n = max(round(polygons / pool.tile_labels.mean()), 3)
    chosen = choose_tiles(pool.confidence, place, n, seed=int(rng.integers(2**31)))
    return rows_of_tiles(pool, tile_at[rng.permutation(chosen)], polygons)


def marked(pool: Pool, polygons: int, rng: np.random.Generator) -> Rows:
    """`choose_predictions`; a few more than needed are chosen, and dropped at random until the polygons fit."""
    place = rng.permutation(len(pool.tile_labels))[pool.tile]
    n = polygons
    rows = choose_predictions(pool.confidence, place, n, seed=int(rng.integers(2**31)))
    while pool.polygons(rows) < polygons and n < len(pool.confidence):
        n = max(n + 1, int(n * polygons / max(pool.polygons(rows), 1)))
        rows = choose_predictions(pool.confidence, place, n, seed=int(rng.integers(2**31)))
    while pool.polygons(rows) > polygons:
        rows = np.delete(rows, rng.integers(len(rows)))
    return rows


def rows_of_tiles(pool: Pool, order: Rows, polygons: int) -> Rows:
    """Predictions of the first tiles whose labels fit into the budget, three tiles at least."""
    count = int(np.searchsorted(np.cumsum(pool.tile_labels[order]), polygons, side="right"))
    return np.flatnonzero(np.isin(pool.tile, order[: max(count, 3)]))


def read_pool(path: Path) -> Pool:
    """The table of predict_pairs.py."""
    pairs = read_pairs(path)
    with path.open(newline="") as file:
        cells = list(csv.DictReader(file))
    names = [f"{cell['tile']} {cell['label']}" if cell["label"] else "" for cell in cells]
    known = {name: number for number, name in enumerate(sorted(set(names) - {""}))}
    tile_labels = np.zeros(pairs.by_tile.number)
    tile_labels[pairs.by_tile.codes] = [float(cell["labels"]) for cell in cells]
    label = np.array([known.get(name, -1) for name in names], np.intp)
    return Pool(pairs.confidence, pairs.iou, pairs.by_tile.codes, label, tile_labels)


def _rms(errors: Floats) -> float:
    return float(np.sqrt(np.mean(errors**2)))


if __name__ == "__main__":
    main()
