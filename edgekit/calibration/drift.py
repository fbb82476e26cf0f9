"""Whether a run's confidences still come from the season's distribution: a test that may be looked at after every tile.

Each tile gives two figures between 0 and 1: the mean u of its confidences' ranks in the profile's distribution, and the
mean of |2 u - 1|, which grows when confidences spread out. Under the null hypothesis the expectation of each, given all
tiles before, lies within a margin of the profile's. Against that, four gamblers bet with a capital that cannot grow on
average (I. Waudby-Smith and A. Ramdas, Estimating means of bounded random variables by betting, 2024). The mean of
their capitals reaches 1 / alpha with probability alpha at most, however long the run lasts (Ville's inequality).
Nothing is assumed of how predictions of one tile hang together.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from edgekit.calibration.pairs import Floats, Pairs
from edgekit.errors import SettingsError
from edgekit.wording import counted

BINS = 20
"""Steps of the stored distribution: ranks to 0.05, interpolated between."""
BOLDNESS = 0.5
"""Largest share of the capital that can be lost on one tile; half is the usual choice of the paper above."""


@dataclass(frozen=True)
class ConfidenceReference:
    """The distribution of a season's confidences, as a profile keeps it."""

    edges: tuple[float, ...]
    """Quantiles of the confidences at 0, 1/20, ..., 1; rising."""
    rank_mean: float
    """Mean over tiles of the tile's mean rank."""
    rank_error: float
    """Standard error of rank_mean."""
    spread_mean: float
    """Mean over tiles of the tile's mean |2 rank - 1|."""
    spread_error: float
    tiles: int
    """Tiles with predictions that it was taken from."""

    def __post_init__(self) -> None:
        if len(self.edges) < 2 or any(low > high for low, high in pairwise(self.edges)):
            raise SettingsError(f"confidences.edges = {list(self.edges)}", mend="write two or more rising numbers")


@dataclass(frozen=True)
class DriftSettings:
    """When confidences count as drifted."""

    alpha: float = 0.01
    """Probability of a false alarm in a whole run, at most."""
    tolerance: float = 0.05
    """Shift of the mean rank, beyond the profile's own error, that is left to chance of place and weather."""


@dataclass(frozen=True)
class DriftStatus:
    """What the test says so far."""

    drifted: bool
    tiles: int
    evidence: float
    """Largest mean capital so far; drifted from 1 / alpha on."""
    rank_shift: float | None
    """Mean rank of the run less the profile's: below 0 the confidences have fallen. None before the first tile."""

    def as_json(self) -> dict[str, Any]:
        """For a summary or a status file: the figures and the sentence."""
        return {**asdict(self), "sentence": self.sentence()}

    def sentence(self) -> str:
        """One line for a status page or a summary."""
        if self.rank_shift is None:
            return "no confidences seen yet"
        way = "lower" if self.rank_shift < 0 else "higher"
        place = f"mean rank {abs(self.rank_shift):.3f} {way} than the profile's over {counted(self.tiles, 'tile')}"
        if self.drifted:
            return f"confidences have drifted from the profile's ({place}): calibrate again"
        return f"confidences agree with the profile's ({place})"


@dataclass
class _Gambler:
    """Bets that the mean of the values lies above `limit`; the values lie between 0 and 1."""

    limit: float
    capital: float = 1.0
    _count: int = 1
    _mean: float = 0.0
    _square: float = 0.25

    def see(self, value: float) -> None:
        mean = self._mean / self._count if self._count > 1 else self.limit
        edge = mean - self.limit
        bet = min(max(edge, 0.0) / (self._square / self._count + edge * edge), BOLDNESS / max(self.limit, 1e-9))
        self.capital *= 1 + bet * (value - self.limit)
        self._count += 1
        self._mean += value
        self._square += (value - self._mean / (self._count - 1)) ** 2


@dataclass
class DriftMonitor:
    """Takes the confidences of one tile after the other; tiles without predictions say nothing."""

    reference: ConfidenceReference
    settings: DriftSettings = field(default_factory=DriftSettings)
    _gamblers: tuple[_Gambler, ...] = field(init=False)
    _evidence: float = field(init=False, default=1.0)
    _tiles: int = field(init=False, default=0)
    _rank_sum: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        known = self.reference
        limits = []
        for mean, error in ((known.rank_mean, known.rank_error), (known.spread_mean, known.spread_error)):
            margin = self.settings.tolerance + 2 * error
            limits += [mean + margin, 1 - mean + margin]
        self._gamblers = tuple(_Gambler(limit) for limit in limits)

    def add_tile(self, confidences: Floats) -> None:
        """Confidences of one tile at or above the score floor; float, n."""
        if not len(confidences):
            return
        rank, spread = _tile_figures(confidences, self.reference.edges)
        for gambler, value in zip(self._gamblers, (rank, 1 - rank, spread, 1 - spread), strict=True):
            gambler.see(value)
        self._tiles += 1
        self._rank_sum += rank
        self._evidence = max(self._evidence, sum(gambler.capital for gambler in self._gamblers) / len(self._gamblers))

    def status(self) -> DriftStatus:
        """What is known after the tiles so far; once drifted it stays so."""
        shift = self._rank_sum / self._tiles - self.reference.rank_mean if self._tiles else None
        return DriftStatus(self._evidence >= 1 / self.settings.alpha, self._tiles, self._evidence, shift)


def reference_of(pairs: Pairs) -> ConfidenceReference | None:
    """The distribution of the confidences of the labelled tiles; None with fewer than two tiles."""
    if pairs.by_tile.number < 2:
        return None
    edges = tuple(float(edge) for edge in np.quantile(pairs.confidence, np.linspace(0, 1, BINS + 1)))
    figures = np.array(
        [_tile_figures(pairs.confidence[pairs.by_tile.codes == code], edges) for code in range(pairs.by_tile.number)]
    )
    means, errors = figures.mean(axis=0), figures.std(axis=0, ddof=1) / np.sqrt(len(figures))
    return ConfidenceReference(
        edges, float(means[0]), float(errors[0]), float(means[1]), float(errors[1]), len(figures)
    )


def _tile_figures(confidences: Floats, edges: tuple[float, ...]) -> tuple[float, float]:
    """Mean rank and mean |2 rank - 1| of a tile; equal edges share the middle of their ranks."""
    ranks = 0.5 * (_rank(confidences, edges, "left") + _rank(confidences, edges, "right"))
    return float(ranks.mean()), float(np.abs(2 * ranks - 1).mean())


def _rank(confidences: Floats, edges: tuple[float, ...], side: str) -> Floats:
    """Interpolated distribution function; where edges are equal, the lower (left) or upper (right) rank."""
    at = np.linspace(0, 1, len(edges))
    values = np.asarray(edges)
    keep = np.r_[True, np.diff(values) > 0] if side == "left" else np.r_[np.diff(values) > 0, True]
    ranks: Floats = np.interp(confidences, values[keep], at[keep])
    return ranks
