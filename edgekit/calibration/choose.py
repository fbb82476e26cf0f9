"""Which predictions, or which whole tiles, a person should check so that the threshold becomes sure soonest.

Two things make sigma shrink per drawn polygon without bending the line: pairs that are not alike, so from many tiles
with one or two checked predictions each; and confidences spread as in the whole run, so that a bent relation is sampled
as it is. Picking tiles that promise much (few fruit, confidences near the threshold) was tried and moves the
threshold by more than it saves: such tiles are not like the others. Figures: bench/calibration/choice.py.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgekit.calibration.pairs import Floats

TRIES = 300
"""Draws among which the one whose confidences are spread most like the run's is taken."""
BINS = 20
"""Steps of the spread of confidences when whole tiles are chosen."""

Rows = npt.NDArray[np.intp]


def choose_predictions(confidence: Floats, place: Rows, n: int, *, seed: int = 0) -> Rows:
    """Rows of n predictions to check, rising; all of them where there are no more than n.

    The run is cut into n stretches with equally many predictions each, along the rows and from top to bottom; one is
    drawn from every stretch, 300 times over, and the draw with the most even ranks of confidence is taken (smallest
    Cramer-von Mises distance). Every prediction has nearly the same chance, so plain least squares stays right.

    Args:
        confidence: float64, N.
        place: intp, N; number of each prediction's tile in the order of cutting, rows one after the other.
        n: how many.
        seed: the same seed gives the same choice.
    """
    total = len(confidence)
    if n >= total:
        return np.arange(total)
    rng = np.random.default_rng(seed)
    along = np.lexsort((rng.random(total), place))
    drawn = along[_one_of_each_stretch(total, n, rng)]
    ranks = np.sort(_ranks(confidence)[drawn], axis=1)
    distance = ((ranks - (np.arange(n) + 0.5) / n) ** 2).sum(axis=1)
    return np.sort(drawn[int(np.argmin(distance))])


def choose_tiles(confidence: Floats, place: Rows, n: int, *, seed: int = 0) -> Rows:
    """Numbers (values of `place`) of n whole tiles with predictions, rising; all where there are no more than n.

    Like `choose_predictions`, with stretches of equally many tiles, and the number of predictions a tile kept as in the
    run as well.
    """
    tiles, codes = np.unique(place, return_inverse=True)
    if n >= len(tiles):
        return tiles
    rng = np.random.default_rng(seed)
    drawn = _one_of_each_stretch(len(tiles), n, rng)
    bins = np.minimum((_ranks(confidence) * BINS).astype(np.intp), BINS - 1)
    counts = np.zeros((len(tiles), BINS))
    np.add.at(counts, (codes, bins), 1.0)
    wanted = counts.mean(axis=0) * n
    distance = ((np.cumsum(counts[drawn].sum(axis=1), axis=1) - np.cumsum(wanted)) ** 2).sum(axis=1)
    chosen: Rows = tiles[np.sort(drawn[int(np.argmin(distance))])]
    return chosen


def _one_of_each_stretch(total: int, n: int, rng: np.random.Generator) -> Rows:
    """TRIES x n positions: one at random from each of n stretches of a list of `total`."""
    edges = np.linspace(0, total, n + 1)
    positions = edges[:-1] + rng.random((TRIES, n)) * np.diff(edges)
    return np.minimum(positions.astype(np.intp), total - 1)


def _ranks(values: Floats) -> Floats:
    """Ranks between 0 and 1, ties in the order of the list."""
    ranks = np.empty(len(values))
    ranks[np.argsort(values, kind="stable")] = (np.arange(len(values)) + 0.5) / len(values)
    return ranks
