"""A season's profile: the threshold that a session of labelling gave, and everything that says how far to trust it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date

from edgekit.calibration.drift import ConfidenceReference
from edgekit.errors import SettingsError

PROFILE_FORMAT = 1
"""Version of the profile file."""
SAME = 1e-6
"""Figures of a profile agree up to this: they are written in full, so only a change by hand moves them further."""


@dataclass(frozen=True)
class ProfileUncertainty:
    """Error of the threshold, by procedure."""

    level: float
    """Confidence level of the intervals."""
    sigma: float
    """Equation 7 of the paper."""
    sigma_units: float
    """Spread between units: tiles, or what several tiles were cut from."""
    interval: tuple[float, ...]
    """Low and high end of what edgekit acts on: the span of the three intervals below."""
    fieller: tuple[float, ...]
    unit_fieller: tuple[float, ...]
    bootstrap: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("interval", "fieller", "unit_fieller", "bootstrap"):
            _require_ends(f"uncertainty.{name}", getattr(self, name))

    @property
    def span(self) -> tuple[float, float]:
        """Low and high end of the three intervals that `interval` is made of."""
        three = (self.fieller, self.unit_fieller, self.bootstrap)
        return min(low for low, _ in three), max(high for _, high in three)


@dataclass(frozen=True)
class ProfileRelation:
    """The line through confidence and IoU."""

    b0: float
    b1: float
    n: int
    """Pairs."""
    tiles: int
    units: int
    """What was drawn independently: tiles, or pictures or stretches of row."""
    r: float
    """Pearson R, with its sign."""
    r_squared: float
    r_interval: tuple[float, ...] = ()
    """Fisher's interval; empty where there is none."""
    p_value: float | None = None

    def __post_init__(self) -> None:
        if self.units < 2:
            raise SettingsError(f"relation.units = {self.units}", mend="the spread between units needs two or more")
        if self.b1 <= 0:
            raise SettingsError(f"relation.b1 = {self.b1:g}", mend="a line that does not rise has no threshold")
        if self.r_interval:
            _require_ends("relation.r_interval", self.r_interval)


@dataclass(frozen=True)
class ProfileBand:
    """A threshold for one band of heights in the panorama, 0 at the top and 1 at the bottom."""

    top: float
    bottom: float
    threshold: float
    sigma: float
    n: int

    def __post_init__(self) -> None:
        _require_ends("bands: top and bottom", (self.top, self.bottom))
        for name, value in (("top", self.top), ("bottom", self.bottom), ("threshold", self.threshold)):
            _require_share(f"bands: {name}", value)


@dataclass(frozen=True)
class ProfileLabels:
    """Which labels the profile stands on."""

    digest: str
    """SHA-256 of the pairs; the same labels and predictions give the same digest."""
    source: str = ""
    """Name of the file or folder that was read."""
    skipped: int = 0
    """Labels that were not used."""


@dataclass(frozen=True)
class ProfileEnd:
    """The last lines of the file, so that a file that was cut is known as such."""

    complete: bool


@dataclass(frozen=True)
class SeasonFacts:
    """One season of one crop in one place with one model: what the person and the run say of it."""

    season: str
    """Name, also that of the file: letters, digits, dot, hyphen and underscore."""
    crop: str
    place: str
    from_date: date
    to_date: date
    """Last day on which it holds."""
    model_id: str
    """Digest of everything that moves a score."""
    model: str
    precision: str
    notes: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class Profile(SeasonFacts):
    """A season with its threshold, as its file has it."""

    format: int
    iou_target: float
    threshold: float
    rule: str
    """How pairs were made."""
    uncertainty: ProfileUncertainty
    relation: ProfileRelation
    labels: ProfileLabels
    end: ProfileEnd
    confidences: ConfidenceReference | None = None
    """For the drift test; None where there were too few tiles."""
    bands: tuple[ProfileBand, ...] = ()
    """Thresholds by height; empty where one threshold serves all heights."""
    warnings: tuple[str, ...] = ()
    edgekit: str = ""
    """Version that wrote it."""

    def __post_init__(self) -> None:
        if self.format != PROFILE_FORMAT:
            raise SettingsError(f"format = {self.format}", mend=f"this edgekit reads format {PROFILE_FORMAT}")
        require_season(self.season, (self.from_date, self.to_date))
        for name, value in (("threshold", self.threshold), ("iou_target", self.iou_target)):
            _require_share(name, value)
        if not self.end.complete:
            raise SettingsError("end.complete = false", mend="write the profile again with edgekit calibrate fit")

    def doubts(self) -> tuple[str, ...]:
        """Figures that do not fit together, in words: somebody changed them after the fit."""
        found = []
        by_line = (self.iou_target - self.relation.b0) / self.relation.b1
        if abs(by_line - self.threshold) > SAME:
            says = f"its line gives {by_line:.3f} for IoU {self.iou_target:g}"
            found.append(f"the threshold {self.threshold:g} was changed by hand: {says}")
        low, high = self.uncertainty.interval
        if max(abs(a - b) for a, b in zip((low, high), self.uncertainty.span, strict=True)) > SAME:
            says = "{:.3f} to {:.3f}".format(*self.uncertainty.span)
            found.append(f"the interval {low:g} to {high:g} was changed by hand: its procedures give {says}")
        if abs(self.relation.r**2 - self.relation.r_squared) > SAME:
            found.append(f"r_squared {self.relation.r_squared:g} is not the square of r {self.relation.r:g}")
        mend = "fit again, or set a threshold of your own with edgekit run --threshold"
        return tuple(f"season {self.season}: {text} ({mend})" for text in found)

    def holds_on(self, day: date) -> bool:
        """Whether the day lies in the season."""
        return self.from_date <= day <= self.to_date


def _require_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise SettingsError(f"{name} = {value:g}", mend="it lies between 0 and 1")


def _require_ends(name: str, ends: tuple[float, ...]) -> None:
    if len(ends) != 2 or ends[0] > ends[1]:
        raise SettingsError(f"{name} = {list(ends)}", mend="write two numbers, the lower one first")


def require_season(name: str, days: tuple[date, date]) -> None:
    """Pass where the name can be that of a file, and the first day does not come after the last.

    Raises:
        SettingsError: it is otherwise.
    """
    if days[0] > days[1]:
        raise SettingsError(f"from_date {days[0]} comes after to_date {days[1]}", mend="give --from and --to")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise SettingsError(f"season {name!r}", mend="use letters, digits, dot, hyphen and underscore")
