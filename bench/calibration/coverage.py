"""How often each interval of the threshold covers the true one, over simulated sessions.

    python bench/calibration/coverage.py                 the grid of independent pairs, 20,000 sessions a cell
    python bench/calibration/coverage.py --tiles         pairs alike within tiles (correlation 0.3)

`all`: over all sessions; Fieller's sets are taken as they are, bounded or not, and of the other procedures an unbounded
set counts as covering. `issued`: over the sessions that give a threshold.
The statistics are edgekit's own functions, called once for all sessions of a cell.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from itertools import product

import numpy as np
from simulate import SD_X, Cell, draw_independent, draw_tiles, tile_sums

from edgekit.calibration.bootstrap import bootstrap_units, draw_weights
from edgekit.calibration.clusters import unit_estimate
from edgekit.calibration.fieller import Bounds, fieller_bounds, fieller_holds, independent_estimate
from edgekit.calibration.moments import GroupSums
from edgekit.calibration.pairs import Floats
from edgekit.calibration.regression import fit_line, solve
from edgekit.calibration.sigma import sigma_closed_form

GRID = tuple(Cell(n, r, below) for n, r, below in product((10, 20, 50, 200), (0.3, 0.57, 0.8), (0.0, 0.5, 1.0)))
TILE_GRID = tuple((tiles, Cell(5, r, 0.5)) for tiles in (5, 10, 20, 40) for r in (0.57, 0.8))
ALIKE = 0.3
CHUNK = 2_500
"""Sessions at a time: bounds the memory of the bootstrap (draws x sessions)."""


@dataclass(frozen=True)
class Coverage:
    """Of one procedure in one design."""

    all: float
    """Over all sessions."""
    issued: float
    """Over the sessions that gave a threshold."""
    width: float
    """Median width over those, in standard deviations of the confidences."""


@dataclass(frozen=True)
class CellResult:
    """One row of the table."""

    n: int
    r: float
    below_mean: float
    tiles: int
    sessions: int
    issued_share: float
    procedures: dict[str, Coverage]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiles", action="store_true")
    parser.add_argument("--sessions", type=int, default=20_000)
    parser.add_argument("--draws", type=int, default=999)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    options = (arguments.sessions, arguments.draws, arguments.seed)
    if arguments.tiles:
        results = [study_tiles(cell, tiles, *options) for tiles, cell in TILE_GRID]
    else:
        results = [study_independent(cell, *options) for cell in GRID]
    print(json.dumps(results, default=vars, indent=1) if arguments.json else table(results))


def study_independent(cell: Cell, sessions: int, draws: int, seed: int) -> CellResult:
    """Every pair a tile of its own."""
    rng = np.random.default_rng((seed, cell.n, int(cell.r * 100), int(cell.below_mean * 10)))
    weights = draw_weights(cell.n, draws, seed)
    chunks = []
    for size in _chunk_sizes(sessions, cell.n * draws):
        x, y = draw_independent(cell, size, rng)
        sums = tile_sums(x[..., None], y[..., None], np.ones((size, cell.n, 1)))
        chunks.append(bounds_of(sums, cell, weights, (x.min(axis=-1), x.max(axis=-1))))
    return summarise(cell, cell.n, chunks)


def study_tiles(cell: Cell, tiles: int, sessions: int, draws: int, seed: int) -> CellResult:
    """Some pairs a tile, alike."""
    rng = np.random.default_rng((seed, tiles, int(cell.r * 100)))
    weights = draw_weights(tiles, draws, seed)
    chunks = []
    for size in _chunk_sizes(sessions, tiles * draws):
        x, y, seen = draw_tiles(cell, tiles, ALIKE, size, rng)
        low, high = np.where(seen > 0, x, np.inf).min(axis=(1, 2)), np.where(seen > 0, x, -np.inf).max(axis=(1, 2))
        chunks.append(bounds_of(tile_sums(x, y, seen), cell, weights, (low, high)))
    return summarise(cell, tiles, chunks)


def bounds_of(sums: GroupSums, cell: Cell, weights: Floats, seen_range: tuple[Floats, Floats]) -> dict[str, Bounds]:
    """Intervals by procedure; `issued`: 1 where a threshold would be set, `held`: where a Fieller set has the truth."""
    target = cell.iou_target
    total = sums.total()
    x_th, sigma = solve(fit_line(total), target), sigma_closed_form(total, target)
    fieller = fieller_bounds(independent_estimate(total), target)
    unit_fieller = fieller_bounds(unit_estimate(sums), target)
    bootstrap = bootstrap_units(sums, target, weights).bounds
    parts = (fieller, unit_fieller, bootstrap)
    acted = Bounds(np.min([part.low for part in parts], axis=0), np.max([part.high for part in parts], axis=0))
    older = Bounds(np.minimum(fieller.low, bootstrap.low), np.maximum(fieller.high, bootstrap.high))
    low, high = seen_range
    held = [
        fieller_holds(estimate, target, cell.true_threshold)
        for estimate in (independent_estimate(total), unit_estimate(sums))
    ]
    placed = (x_th >= np.maximum(low, 0)) & (x_th <= np.minimum(high, 1)) & (fit_line(total).b1 > 0)
    issued = (acted.bounded & placed).astype(np.float64)
    return {
        "sigma": Bounds(x_th - 1.96 * sigma, x_th + 1.96 * sigma),
        "Fieller": fieller,
        "bootstrap": bootstrap,
        "wider of the two": older,
        "unit Fieller": unit_fieller,
        "acted": acted,
        "issued": Bounds(issued, issued),
        "held": Bounds(held[0].astype(np.float64), held[1].astype(np.float64)),
    }


def summarise(cell: Cell, tiles: int, chunks: list[dict[str, Bounds]]) -> CellResult:
    """Coverage of every procedure over all chunks."""
    ends = {
        name: (
            np.concatenate([part[name].low for part in chunks]),
            np.concatenate([part[name].high for part in chunks]),
        )
        for name in chunks[0]
    }
    issued = ends.pop("issued")[0] > 0
    held = dict(zip(("Fieller", "unit Fieller"), ends.pop("held"), strict=True))
    true, procedures = cell.true_threshold, {}
    for name, (low, high) in ends.items():
        covers = ~np.isfinite(low) | ((low <= true) & (true <= high))
        width = float(np.median((high - low)[issued])) / SD_X if issued.any() else float("nan")
        over_all = held.get(name, covers)
        procedures[name] = Coverage(float(over_all.mean()), float(covers[issued].mean()), width)
    return CellResult(cell.n, cell.r, cell.below_mean, tiles, len(issued), float(issued.mean()), procedures)


def table(results: list[CellResult]) -> str:
    """Text for a terminal: `all / issued` in percent."""
    names = list(results[0].procedures)
    lines = ["   n  tiles     R  below  issued  " + "  ".join(f"{name:>16}" for name in names)]
    for row in results:
        cells = [f"{100 * row.procedures[name].all:7.1f} /{100 * row.procedures[name].issued:6.1f} " for name in names]
        lines.append(
            f"{row.n:4d}  {row.tiles:5d}  {row.r:4.2f}  {row.below_mean:5.1f}  {100 * row.issued_share:5.1f}%  "
            + "  ".join(cells)
        )
    return "\n".join(lines)


def _chunk_sizes(sessions: int, cost: int) -> list[int]:
    chunk = min(CHUNK, max(50, 40_000_000 // cost))
    return [min(chunk, sessions - start) for start in range(0, sessions, chunk)]


if __name__ == "__main__":
    main()
