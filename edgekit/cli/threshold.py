"""From the options of a command to the threshold that holds, and where it comes from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from edgekit.contracts import ModelInfo
from edgekit.errors import SettingsError

if TYPE_CHECKING:
    from edgekit.calibration import Profile
    from edgekit.store import RunPlan, Season

FALLBACK = 0.5
"""Where neither the options nor the model name a threshold."""

UNTRAINED = "the model is untrained: its weights are random, so the counts mean nothing; use it to measure times only"

PROFILE_FOLDERS = (Path("calibration"), Path("/etc/edgekit/calibration"))
"""Where season profiles are looked for, in this order: beside the work, then what is installed on the device."""


@dataclass(frozen=True)
class ThresholdRequest:
    """What the options say."""

    value: float | None
    season: str | None
    """A season's name, or the path of its profile."""
    allow_model_mismatch: bool = False
    profiles: Path | None = None
    """Folder of season profiles, from which the day and the model choose where nothing is named; None: do not look."""
    begun: RunPlan | None = None
    """Of the run that lies in the folder already: it goes on with the threshold that it began with."""


@dataclass(frozen=True)
class ChosenThreshold:
    """The threshold that holds."""

    value: float
    origin: str
    """Where it comes from, in words."""
    warnings: tuple[str, ...] = ()
    season: Season | None = None
    """What the season's profile gives beside it, where a profile sets the threshold."""


def resolve_threshold(request: ThresholdRequest, info: ModelInfo) -> ChosenThreshold:
    """The threshold of the options, of the run that is gone on with, of the season's profile (named, or chosen by day
    and model), or of the model.

    Raises:
        SettingsError: two thresholds are named, or one that no detection of this model can be judged by.
        ProfileError: the profile cannot be read or belongs to another model.
    """
    if request.value is not None and request.season is not None:
        raise SettingsError("both --threshold and --season set the threshold", mend="leave one of them out")
    chosen = _chosen(request, info)
    bands = chosen.season.bands if chosen.season else ()
    for value in (chosen.value, *(band.threshold for band in bands)):
        check_threshold(value, info.score_floor)
    return replace(chosen, warnings=(UNTRAINED, *chosen.warnings)) if info.untrained else chosen


def profile_folder(named: Path | None, folders: Sequence[Path] = PROFILE_FOLDERS) -> Path:
    """The folder that was named, or the first of the usual ones that holds a profile.

    Raises:
        SettingsError: the named one is no folder.
    """
    if named is None:
        return next((folder for folder in folders if next(folder.glob("*.toml"), None)), folders[0])
    if not named.is_dir():
        raise SettingsError(f"there is no folder {named} of season profiles", mend="name it with --profiles")
    return named


def begun_plan(out: Path) -> RunPlan | None:
    """The plan of the run that lies in a folder; None for none, and for one without a tile, which binds nobody."""
    from edgekit.errors import EdgekitError
    from edgekit.store import RunFolder, RunReader

    database = RunFolder(out).database
    if not database.is_file():
        return None
    try:
        reader = RunReader.open(database)
    except EdgekitError:
        return None  # `run_job` says what is wrong with it
    try:
        run = reader.run_or_none()
        return None if run is None or not reader.count_tiles() else run.plan
    except EdgekitError:
        return None
    finally:
        reader.close()


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
    by_day = _of_day_or_default(request, info)
    if request.begun is None or request.begun.model_id != info.model_id:
        return by_day
    return _as_begun(request.begun, by_day)


def _as_begun(plan: RunPlan, by_day: ChosenThreshold) -> ChosenThreshold:
    """A run keeps the threshold that it began with, so that all its rows are counted alike."""
    warnings = []
    if plan.threshold != by_day.value:
        began = f"the run goes on with {plan.threshold:g} ({plan.threshold_from}), as it began"
        warnings.append(f"{began}; today it would be {by_day.value:g} ({by_day.origin})")
    return ChosenThreshold(plan.threshold, plan.threshold_from, tuple(warnings), plan.season)


def _of_season(request: ThresholdRequest, info: ModelInfo, season: str) -> ChosenThreshold:
    from edgekit.calibration import named_profile

    allow = request.allow_model_mismatch
    profile, warnings = named_profile(season, request.profiles, info.model_id, allow_model_mismatch=allow)
    return _of_profile(profile, f"season {profile.season}", warnings)


def _of_day_or_default(request: ThresholdRequest, info: ModelInfo) -> ChosenThreshold:
    """The profile that holds today with this model; else the default, with a warning."""
    default = _default(info)
    if request.profiles is None or next(request.profiles.glob("*.toml"), None) is None:
        return default
    from edgekit.calibration import pick_profile

    choice = pick_profile(
        request.profiles, date.today(), info.model_id, allow_model_mismatch=request.allow_model_mismatch
    )
    if choice.profile is not None:
        return _of_profile(choice.profile, choice.reason, choice.warnings)
    return ChosenThreshold(default.value, f"{default.origin}: {choice.reason}", choice.warnings or (choice.reason,))


def _of_profile(profile: Profile, reason: str, warnings: tuple[str, ...]) -> ChosenThreshold:
    from edgekit.calibration import season_of

    origin = reason + (f" ({'; '.join(warnings)})" if warnings else "")
    return ChosenThreshold(profile.threshold, origin, warnings, season_of(profile))


def _default(info: ModelInfo) -> ChosenThreshold:
    if info.default_threshold is not None:
        return ChosenThreshold(info.default_threshold, "the model's default")
    return ChosenThreshold(FALLBACK, f"edgekit's fallback {FALLBACK:g}: the model names none")
