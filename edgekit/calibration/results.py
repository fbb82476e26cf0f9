"""What a fit says: the threshold, its errors, and what they rest on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from edgekit.calibration.checks import LineChecks
from edgekit.calibration.influence import TileInfluence


class Interval(NamedTuple):
    """Both ends belong to it."""

    low: float
    high: float

    def __contains__(self, value: object) -> bool:
        return isinstance(value, float | int) and self.low <= value <= self.high


@dataclass(frozen=True)
class Uncertainty:
    """Every standard deviation and interval of the threshold, by the name of its procedure."""

    sigma: float
    """Equation 7."""
    sigma_propagated: float
    """Equation 4, the same figure by another way."""
    sigma_units: float
    """Spread between units (tiles, or what several tiles were cut from): what comparisons use. The larger of the
    bootstrap's standard deviation times sqrt(G / (G - 1)) and that of the delete-one jackknife."""
    paper: Interval
    """x_th +- 1.96 sigma."""
    fieller: Interval
    """Fieller, pairs taken as independent."""
    unit_fieller: Interval
    """Fieller with the covariance of the delete-one-unit jackknife: holds its level from 10 units on."""
    bootstrap: Interval
    """BCa over draws of units."""
    acted: Interval
    """The span of the last three: what edgekit acts on."""

    sigma_t: float
    """sigma_units times t(units - 1) / 1.96: with it, plus or minus 1.96 sigma holds its level where units are few."""

    @property
    def design_effect(self) -> float:
        """How many times more variance than equation 7 says, since labels of one unit are alike."""
        return (self.sigma_units / self.sigma) ** 2 if self.sigma > 0 else float("nan")


@dataclass(frozen=True)
class ThresholdFit:
    """The threshold of one IoU target."""

    iou_target: float
    threshold: float
    """x_th, equation 3."""
    b0: float
    b1: float
    n: int
    tiles: int
    units: int
    """Tiles, or pictures or stretches of row where the pairs name them."""
    mean_confidence: float
    var_confidence: float
    mean_iou: float
    var_iou: float
    r: float
    """Pearson R, with its sign."""
    r_squared: float
    r_interval: Interval | None
    """Fisher's interval; None with fewer than four pairs."""
    p_value: float | None
    """Of R = 0."""
    uncertainty: Uncertainty
    checks: LineChecks
    influence: tuple[TileInfluence, ...]
    """Every tile, the one that moves the threshold furthest first."""
    suspects: int
    """Confident predictions without a label."""
    overlapping_only: float | None
    """The threshold had predictions without any overlap been left out, for comparison; None where there is none."""
    below_floor: int
    """Pairs that were left out because they lie below the score floor."""
    rule: str
    """How predictions were paired and which pairs were used, in words."""
    warnings: tuple[str, ...]
