"""From the options of a command to the threshold that holds, and where it comes from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from edgekit.contracts import ModelInfo
from edgekit.errors import SettingsError

if TYPE_CHECKING:
    from edgekit.calibration import ConfidenceReference

FALLBACK = 0.5
"""Where neither the options nor the model name a threshold."""


@dataclass(frozen=True)
class ThresholdRequest:
    """What the options say."""

    value: float | None
    season: str | None
    """A season's name, or the path of its profile."""
    allow_model_mismatch: bool = False
    profiles: Path | None = None
    """Folder of season profiles, from which the day and the model choose where nothing is named; None: do not look."""


@dataclass(frozen=True)
class ChosenThreshold:
    """The threshold that holds."""

    value: float
    origin: str
    """Where it comes from, in words."""
    warning: str | None = None
    confidences: ConfidenceReference | None = None
    """The season's, where a profile sets the threshold."""


def resolve_threshold(request: ThresholdRequest, info: ModelInfo) -> ChosenThreshold:
    """The threshold of the options, of the season's profile (named, or chosen by day and model), or of the model.

    Raises:
        SettingsError: two thresholds are named, or one that no detection of this model can be judged by.
        ProfileError: the profile cannot be read or belongs to another model.
    """
    if request.value is not None and request.season is not None:
        raise SettingsError("both --threshold and --season set the threshold", mend="leave one of them out")
    chosen = _chosen(request, info)
    check_threshold(chosen.value, info.score_floor)
    return chosen


def check_threshold(value: float, score_floor: float) -> None:
    """Refuse a threshold that is no confidence, or below what the model returns at all.

    Raises:
        SettingsError: it is.
    """
    if math.isnan(value) or not 0 <= value <= 1:
        raise SettingsError(f"the threshold is {value}", mend="give a confidence from 0 to 1")
    if value < score_floor:
        what = f"the threshold {value:g} is below the model's score floor {score_floor:g}"
        raise SettingsError(what, mend=f"give {score_floor:g} or more: what lies below is not kept")


def _chosen(request: ThresholdRequest, info: ModelInfo) -> ChosenThreshold:
    if request.value is not None:
        return ChosenThreshold(request.value, "option --threshold")
    if request.season is not None:
        return _of_season(request, info, request.season)
    if request.profiles is not None and next(request.profiles.glob("*.toml"), None) is not None:
        return _of_day(request, info, request.profiles)
    return _default(info)


def _of_season(request: ThresholdRequest, info: ModelInfo, season: str) -> ChosenThreshold:
    from edgekit.calibration import load_profile, require_model

    profile = load_profile(season, request.profiles)
    warning = require_model(profile, info.model_id, allow_model_mismatch=request.allow_model_mismatch)
    origin = f"season {profile.season}" + (f" ({warning})" if warning else "")
    return ChosenThreshold(profile.threshold, origin, warning, profile.confidences)


def _of_day(request: ThresholdRequest, info: ModelInfo, folder: Path) -> ChosenThreshold:
    """The profile that holds today with this model; else the default, with a warning."""
    from edgekit.calibration import pick_profile

    choice = pick_profile(folder, date.today(), info.model_id, allow_model_mismatch=request.allow_model_mismatch)
    warning = "; ".join(choice.warnings) or None
    if choice.profile is not None:
        origin = choice.reason + (f" ({warning})" if warning else "")
        return ChosenThreshold(choice.profile.threshold, origin, warning, choice.profile.confidences)
    default = _default(info)
    return ChosenThreshold(default.value, f"{default.origin}: {choice.reason}", warning or choice.reason)


def _default(info: ModelInfo) -> ChosenThreshold:
    if info.default_threshold is not None:
        return ChosenThreshold(info.default_threshold, "the model's default")
    return ChosenThreshold(FALLBACK, f"edgekit's fallback {FALLBACK:g}: the model names none")
