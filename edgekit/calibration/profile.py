"""A season's profile: the threshold that a session of labelling gave, and everything that says how far to trust it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from edgekit.calibration.drift import ConfidenceReference
from edgekit.errors import SettingsError

PROFILE_FORMAT = 1
"""Version of the profile file."""


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


@dataclass(frozen=True)
class ProfileBand:
    """A threshold for one band of heights in the panorama, 0 at the top and 1 at the bottom."""

    top: float
    bottom: float
    threshold: float
    sigma: float
    n: int


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
class Profile:
    """One season of one crop in one place with one model."""

    format: int
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
    notes: str = ""
    warnings: tuple[str, ...] = ()
    edgekit: str = ""
    """Version that wrote it."""

    def __post_init__(self) -> None:
        if self.format != PROFILE_FORMAT:
            raise SettingsError(f"format = {self.format}", mend=f"this edgekit reads format {PROFILE_FORMAT}")
        require_season(self.season, (self.from_date, self.to_date))
        for name, value in (("threshold", self.threshold), ("iou_target", self.iou_target)):
            if not 0 <= value <= 1:
                raise SettingsError(f"{name} = {value:g}", mend="it lies between 0 and 1")
        if not self.end.complete:
            raise SettingsError("end.complete = false", mend="write the profile again with edgekit calibrate fit")

    def holds_on(self, day: date) -> bool:
        """Whether the day lies in the season."""
        return self.from_date <= day <= self.to_date

    def threshold_at(self, height: float) -> float:
        """The threshold at a height, 0 at the top of the panorama and 1 at its bottom."""
        for band in self.bands:
            if band.top <= height <= band.bottom:
                return band.threshold
        return self.threshold


def require_season(name: str, days: tuple[date, date]) -> None:
    """Pass where the name can be that of a file, and the first day does not come after the last.

    Raises:
        SettingsError: it is otherwise.
    """
    if days[0] > days[1]:
        raise SettingsError(f"from_date {days[0]} comes after to_date {days[1]}", mend="give --from and --to")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise SettingsError(f"season {name!r}", mend="use letters, digits, dot, hyphen and underscore")
