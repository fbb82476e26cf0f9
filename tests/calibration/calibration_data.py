"""Sessions and profiles to calibrate with."""

from __future__ import annotations

import csv
from datetime import date
from pathlib import Path

import numpy as np

from edgekit.calibration.build_profile import build_profile
from edgekit.calibration.fit import fit_threshold
from edgekit.calibration.pairs import Pairs
from edgekit.calibration.profile import Profile, SeasonFacts


def draw_session(seed: int, *, tiles: int = 30, slope: float = 0.8, noise: float = 0.12, spread: float = 0.08) -> Pairs:
    """Pairs of some tiles, five on average in each, those of a tile alike."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(4, tiles) + 1
    tile = np.repeat([f"tile{i:03d}" for i in range(tiles)], counts)
    shift = np.repeat(rng.normal(0, spread, tiles), counts)
    x = rng.uniform(0.05, 0.98, len(tile))
    y = np.clip(0.1 + slope * x + shift + rng.normal(0, noise, len(tile)), 0, 1)
    return Pairs(x, y, tile, rng.uniform(0, 1, len(tile)))


def make_profile(pairs: Pairs, **changes: object) -> Profile:
    facts = {
        "season": "pepper-2026-spring",
        "crop": "sweet pepper",
        "place": "house 3",
        "from_date": date(2026, 3, 1),
        "to_date": date(2026, 6, 30),
        "model_id": "a" * 64,
        "model": "yolo11",
        "precision": "fp32",
        **changes,
    }
    return build_profile(fit_threshold(pairs, 0.5), pairs, SeasonFacts(**facts), level=0.95)


def write_pairs(pairs: Pairs, path: Path) -> None:
    """A table as `edgekit calibrate fit --pairs` takes it, with every number in full."""
    columns = {"confidence": pairs.confidence, "iou": pairs.iou, "tile": pairs.tile,
               "height": pairs.height, "unit": pairs.unit}  # fmt: skip
    there = {name: column.tolist() for name, column in columns.items() if column is not None}
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(there)
        table.writerows(zip(*there.values(), strict=True))
