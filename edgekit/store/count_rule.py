"""From which confidence on a fruit counts: one threshold, or one for each band of heights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class HeightBand:
    """The threshold of a band of heights in the panorama, 0 at the top and 1 at the bottom."""

    top: float
    bottom: float
    threshold: float


@dataclass(frozen=True)
class CountRule:
    """What decides whether a fruit counts."""

    threshold: float
    """Where there are no bands."""
    bands: tuple[HeightBand, ...] = ()
    """From the top to the bottom, each beginning where the one before ends; a fruit lies where its box's centre is."""

    @property
    def lowest(self) -> float:
        """No fruit below this confidence counts anywhere."""
        return min((band.threshold for band in self.bands), default=self.threshold)

    def condition(self, height_px: int | None) -> tuple[str, tuple[float, ...]]:
        """The rule as a condition of SQL on the columns of `fruit`, and the values of its marks."""
        if not self.bands:
            return "score >= ?", (as_score(self.threshold),)
        *upper, lowest = self.bands
        cases = " ".join("WHEN (y0_px + y1_px) / 2 <= ? THEN ?" for _ in upper)
        values = [value for band in upper for value in (band.bottom * (height_px or 0), as_score(band.threshold))]
        wanted = f"CASE {cases} ELSE ? END" if upper else "?"
        return f"score >= {wanted}", (*values, as_score(lowest.threshold))


@dataclass(frozen=True)
class Season:
    """What a run took from a season's profile: stored with the run, which goes on with it on any later day."""

    name: str
    bands: tuple[HeightBand, ...] = ()
    """Thresholds by height; empty where one serves all heights."""
    confidences: Mapping[str, Any] | None = None
    """The season's distribution of confidences, plain JSON types, for the drift test; None where there is none."""


def as_score(threshold: float) -> float:
    """A threshold as near to the number as a float32 score can be: a score of 0.7 passes a threshold of 0.7."""
    return float(np.float32(threshold))


def season_as_json(season: Season) -> dict[str, Any]:
    """Plain JSON types; `season_from_json` gives the same season back."""
    bands = [[band.top, band.bottom, band.threshold] for band in season.bands]
    confidences = None if season.confidences is None else dict(season.confidences)
    return {"name": season.name, "bands": bands, "confidences": confidences}


def season_from_json(values: Mapping[str, Any]) -> Season:
    """The season that was stored."""
    return Season(values["name"], tuple(HeightBand(*band) for band in values["bands"]), values["confidences"])
