"""The coarse displacement: phase correlation row by row, and the choice of the layer that carries the fruit.

A canopy has many depths. Correlating each row by itself and adding up gives a histogram of displacements rather than
one peak: the plants are a broad hill, the far background a narrow spike that may well be higher. What is looked for is
the hill with the most mass, where hills may be as broad as plants are deep.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.fft

from edgekit.contracts import FloatArray
from edgekit.runtime.motion.planes import Planes

DEPTH = 0.3
"""A layer's displacements lie within this share of their middle: the plants of a strawberry row moved 41 to 83 px about
63."""
_WIDEST_BINS = 10
_NOISE = 2.0
"""Median absolute deviations above the median at which the histogram counts."""
_LIFT_COST = 0.02
"""Share of the score lost a row of vertical displacement, which is rarer than none."""
_FAR_FROM_PRIOR = 0.4
"""Weight of a displacement that speed alone would rule out: enough to break the ties of posts at equal distances, too
little to overrule what is clearly seen."""


class CoarseShift(NamedTuple):
    """A displacement to within a coarse pixel."""

    dx: float
    """Coarse pixels; the middle of the layer."""
    dy: int
    """Rows of the spectrum."""


class CoarseMatcher:
    """Finds coarse displacements up to a reach.

    Args:
        transform_px: length of the row transforms.
        reach: largest displacement, coarse pixels.
        lift: largest vertical displacement, rows of the spectrum.
    """

    def __init__(self, transform_px: int, reach: int, lift: int) -> None:
        self._transform_px = transform_px
        reach = min(reach, transform_px // 2 - 1)
        self._shifts = np.arange(-reach, reach + 1)
        self._lifts = range(-lift, lift + 1)
        half = np.clip(DEPTH * np.abs(self._shifts), 1, _WIDEST_BINS).astype(int)
        index = np.arange(len(self._shifts))
        self._first = np.maximum(index - half, 0)
        self._after = np.minimum(index + half, len(index) - 1) + 1

    def match(self, before: Planes, after: Planes, prior: tuple[float, float] | None) -> CoarseShift:
        """Displacement from one frame to the other.

        Args:
            before: the earlier frame.
            after: the later frame.
            prior: expected displacement and its standard deviation, coarse pixels; None where nothing is expected.
        """
        histograms = self._histograms(before.spectrum, after.spectrum)
        floor = np.median(histograms, axis=1, keepdims=True)
        floor += _NOISE * np.median(np.abs(histograms - floor), axis=1, keepdims=True)
        mass = np.maximum(histograms - floor, 0.0)
        total = np.concatenate((np.zeros((len(mass), 1), np.float32), np.cumsum(mass, axis=1)), axis=1)
        score = total[:, self._after] - total[:, self._first]
        weighed = score * (1.0 - _LIFT_COST * np.abs(np.array(self._lifts)))[:, None] * self._belief(prior)
        row, column = np.unravel_index(int(weighed.argmax()), weighed.shape)
        return CoarseShift(self._middle(mass[row], int(column)), self._lifts[row])

    def _histograms(self, before: npt.NDArray[np.complex64], after: npt.NDArray[np.complex64]) -> FloatArray:
        """Sum of the rows' phase correlations, a row for each vertical displacement, a column a displacement."""
        rows = len(before)
        crossed = [
            np.einsum("rf,rf->f", after[max(lift, 0) : rows + min(lift, 0)],
                      before[max(-lift, 0) : rows - max(lift, 0)].conj()) / max(rows - abs(lift), 1)
            for lift in self._lifts
        ]  # fmt: skip
        correlation = scipy.fft.irfft(np.array(crossed), self._transform_px)
        return np.asarray(correlation[:, self._shifts % self._transform_px], np.float32)

    def _belief(self, prior: tuple[float, float] | None) -> FloatArray:
        if prior is None:
            return np.ones(len(self._shifts), np.float32)
        expected, spread = prior
        near = np.exp(-0.5 * ((self._shifts - expected) / spread) ** 2)
        return np.asarray(_FAR_FROM_PRIOR + (1 - _FAR_FROM_PRIOR) * near, np.float32)

    def _middle(self, mass: FloatArray, column: int) -> float:
        """Median displacement of the hill about a column."""
        first, after = self._first[column], self._after[column]
        part = np.cumsum(mass[first:after])
        if not part[-1]:
            return float(self._shifts[column])
        return float(self._shifts[first + int(np.searchsorted(part, part[-1] / 2))])
