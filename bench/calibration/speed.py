"""Time of a whole fit beside its bootstrap alone by scipy.stats.bootstrap, in one process, in turns.

python bench/calibration/speed.py pairs.csv          (from predict_pairs.py)
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.stats

from edgekit.calibration import FitSettings, Pairs, fit_threshold
from edgekit.calibration.table import read_pairs

DRAWS = 1999


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--iou", type=float, default=0.5)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    pairs = read_pairs(arguments.pairs)
    ours, peer = [], []
    for _ in range(arguments.repeats):
        ours.append(cpu_ms(lambda: fit_threshold(pairs, arguments.iou, settings=FitSettings(draws=DRAWS))))
        peer.append(cpu_ms(lambda: scipy_bootstrap(pairs, arguments.iou)))
    figures = {"fit_ms": float(np.median(ours)), "scipy_bootstrap_ms": float(np.median(peer))}
    print(json.dumps(figures | {"ratio": figures["scipy_bootstrap_ms"] / figures["fit_ms"], "draws": DRAWS}))


def scipy_bootstrap(pairs: Pairs, iou_target: float) -> tuple[float, float]:
    """BCa over units with scipy: its statistic refits the line on the pairs of the units drawn."""
    rows = [np.flatnonzero(pairs.by_unit.codes == unit) for unit in range(pairs.by_unit.number)]

    def threshold(units: np.typing.NDArray[np.intp]) -> float:
        drawn = np.concatenate([rows[unit] for unit in units])
        x, y = pairs.confidence[drawn], pairs.iou[drawn]
        slope = np.mean((x - x.mean()) * (y - y.mean())) / np.var(x)
        return float((iou_target - y.mean()) / slope + x.mean())

    data = (np.arange(len(rows)),)
    found = scipy.stats.bootstrap(
        data, threshold, n_resamples=DRAWS, method="BCa", vectorized=False, rng=np.random.default_rng(0)
    )
    return found.confidence_interval.low, found.confidence_interval.high


def cpu_ms(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return 1e3 * (time.process_time() - start)


if __name__ == "__main__":
    main()
