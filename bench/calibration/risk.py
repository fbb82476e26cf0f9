"""How often a risk-controlled threshold breaks its promise, over simulated sessions.

    python bench/calibration/risk.py

A promise is broken where the true share of good masks at or above the threshold is below the wanted one. The share is
known exactly: x is uniform, and a mask is good with probability x.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from itertools import product

import numpy as np
from scipy.special import ndtri

from edgekit.calibration import CalibrationRefused, Pairs
from edgekit.calibration.pairs import Floats
from edgekit.calibration.risk import control_risk

IOU_TARGET = 0.5


@dataclass(frozen=True)
class Design:
    """One way to label, and what is promised."""

    tiles: int
    a_tile: int
    """Predictions a tile."""
    alike: float
    """Correlation of the scores behind good and bad within a tile."""
    by_tile: bool
    wanted: float
    delta: float = 0.1


@dataclass(frozen=True)
class RiskResult(Design):
    """What came of it."""

    sessions: int = 0
    issued: float = 0.0
    """Share of sessions with a threshold."""
    broken: float = 0.0
    """Share of all sessions whose threshold breaks the promise."""
    limit: float = 0.0
    """delta + 2 standard errors."""
    mean_threshold: float = 0.0


PLANS = (
    *((n, 1, 0.0, False) for n in (20, 50, 200)),
    *((tiles, 5, 0.3, by_tile) for tiles, by_tile in product((10, 20, 40), (False, True))),
)
DESIGNS = tuple(Design(*plan, wanted) for plan, wanted in product(PLANS, (0.7, 0.8)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    results = [study(design, arguments.sessions, arguments.seed) for design in DESIGNS]
    if arguments.json:
        print(json.dumps([asdict(row) for row in results], indent=1))
        return
    print("tiles  a tile  alike  by tile  wanted  issued  broken   limit  threshold")
    for row in results:
        print(
            f"{row.tiles:5d}  {row.a_tile:6d}  {row.alike:5.1f}  {row.by_tile!s:>7}  {row.wanted:6.2f}  "
            f"{row.issued:5.1%}  {row.broken:6.2%}  {row.limit:6.2%}  {row.mean_threshold:9.3f}"
        )


def study(design: Design, sessions: int, seed: int) -> RiskResult:
    """x uniform on 0 to 1, P(good | x) = x: the true share above t is (1 + t) / 2."""
    rng = np.random.default_rng((seed, design.tiles, design.a_tile, int(10 * design.alike)))
    found_at = np.array([threshold_of(draw(rng, design), design) for _ in range(sessions)])
    issued = np.isfinite(found_at)
    broken = float((issued & ((1 + found_at) / 2 < design.wanted)).mean())
    limit = design.delta + 2 * float(np.sqrt(design.delta * (1 - design.delta) / sessions))
    mean = float(found_at[issued].mean()) if issued.any() else float("nan")
    return RiskResult(
        **asdict(design),
        sessions=sessions,
        issued=float(issued.mean()),
        broken=broken,
        limit=limit,
        mean_threshold=mean,
    )


def threshold_of(pairs: Pairs, design: Design) -> float:
    """The controlled threshold, NaN where it is refused."""
    try:
        return control_risk(
            pairs, IOU_TARGET, good_share=design.wanted, delta=design.delta, by_unit=design.by_tile
        ).threshold
    except CalibrationRefused:
        return float("nan")


def draw(rng: np.random.Generator, design: Design) -> Pairs:
    """Good with probability x, through a normal score that tiles share in part."""
    tiles, a_tile, alike = design.tiles, design.a_tile, design.alike
    tile = np.repeat(np.arange(tiles), a_tile)
    x: Floats = rng.uniform(0, 1, len(tile))
    common = np.repeat(rng.standard_normal(tiles), a_tile)
    score = np.sqrt(alike) * common + np.sqrt(1 - alike) * rng.standard_normal(len(tile))
    good = score <= ndtri(x)  # score is standard normal, so this happens with probability x
    return Pairs(x, np.where(good, 0.8, 0.2), np.char.add("t", tile.astype(str)))


if __name__ == "__main__":
    main()
