"""The drift test on real confidences: false alarms, and tiles until a shift is found.

    python bench/calibration/drift.py pairs.csv          (from predict_pairs.py)

`none`: reference (40 tiles) and run (400 tiles) are drawn from the same tiles, 2,000 times: every alarm is a false one,
and at most alpha of the runs may have one. `tile`, `unit`: the reference is taken from half of the tiles or pictures,
the run is drawn from the other half. Halves of so few pictures differ in earnest, so alarms without a shift are those
of chance and of real differences. Confidences of the run are then scaled down.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from edgekit.calibration import DriftMonitor, DriftSettings, Pairs
from edgekit.calibration.drift import reference_of
from edgekit.calibration.pairs import Floats
from edgekit.calibration.table import read_pairs

REFERENCE_TILES = 40
"""Of a usual session."""


@dataclass(frozen=True)
class DriftResult:
    """One shift."""

    split: str
    scaled_by: float
    """Confidences of the run are multiplied by this."""
    runs: int
    tiles: int
    alarms: float
    """Share of runs with an alarm."""
    median_tiles: float | None
    """Tiles until the alarm, median over the runs with one."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--tiles", type=int, default=400)
    parser.add_argument("--alpha", type=float, default=0.01)
    arguments = parser.parse_args()
    pairs = read_pairs(arguments.pairs)
    null = study(pairs, "none", 1.0, (20 * arguments.runs, arguments.tiles), arguments.alpha)
    print(json.dumps(asdict(null)))
    for split in ("tile", "unit"):
        for scale in (1.0, 0.95, 0.9, 0.8):
            result = study(pairs, split, scale, (arguments.runs, arguments.tiles), arguments.alpha)
            print(json.dumps(asdict(result)))


def study(pairs: Pairs, split: str, scale: float, size: tuple[int, int], alpha: float) -> DriftResult:
    """Runs against references from the other half, split by tile or by unit."""
    rng = np.random.default_rng(0)
    names = pairs.tile if split in ("none", "tile") or pairs.unit is None else pairs.unit
    found: list[int] = []
    for _ in range(size[0]):
        shuffled = rng.permutation(np.unique(names))
        first = np.isin(names, shuffled[:REFERENCE_TILES] if split == "none" else shuffled[::2])
        reference = reference_of(pairs.select(first))
        if reference is None:
            continue
        monitor = DriftMonitor(reference, DriftSettings(alpha=alpha))
        run = pairs if split == "none" else pairs.select(~first)
        when = tiles_until_alarm(monitor, tiles_of(run, scale), rng, size[1])
        found += [when] if when is not None else []
    median = float(np.median(found)) if found else None
    return DriftResult(split, scale, size[0], size[1], len(found) / size[0], median)


def tiles_of(pairs: Pairs, scale: float) -> list[Floats]:
    """Confidences of each tile that stay above the floor."""
    scaled = pairs.confidence * scale
    codes = pairs.by_tile.codes
    return [scaled[(codes == code) & (scaled >= 0.05)] for code in range(pairs.by_tile.number)]


def tiles_until_alarm(monitor: DriftMonitor, tiles: list[Floats], rng: np.random.Generator, length: int) -> int | None:
    """Number of tiles after which the test speaks; None where it never does."""
    for number in range(1, length + 1):
        monitor.add_tile(tiles[rng.integers(len(tiles))])
        if monitor.status().drifted:
            return number
    return None


if __name__ == "__main__":
    main()
