"""Which profile holds on a day with a model."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path

from edgekit.calibration.profile import Profile
from edgekit.calibration.profile_file import SUFFIX, load_from_folder, load_profile
from edgekit.errors import ProfileError


@dataclass(frozen=True)
class ProfileChoice:
    """The profile that holds, or none, and why."""

    profile: Profile | None
    """None: use the model's default threshold, and say so."""
    reason: str
    warnings: tuple[str, ...] = ()
    """What a person should know: profiles set aside, of another model, or that overlap."""


def pick_profile(
    folder: Path,
    day: date,
    model_id: str,
    *,
    season: str | None = None,
    allow_model_mismatch: bool = False,
) -> ProfileChoice:
    """The profile of a folder that holds on a day with a model; of several the one that began last.

    Args:
        folder: season profiles, `*.toml`; it need not exist.
        day: a label: a device without a clock battery may have it wrong, so a named season does not ask for it.
        model_id: of the model that will run.
        season: name of the season that is wanted whatever the day.
        allow_model_mismatch: take a profile of another model, with a warning.

    Raises:
        ProfileError: the named season is not there, cannot be read, or is of another model.
    """
    if season is not None:
        profile, told = named_profile(season, folder, model_id, allow_model_mismatch=allow_model_mismatch)
        return ProfileChoice(profile, f"season {season} was asked for", told)
    profiles, warnings = _read_profiles(folder)
    fitting = [profile for profile in profiles if profile.holds_on(day)]
    own = [profile for profile in fitting if profile.model_id == model_id]
    if not own and fitting and allow_model_mismatch:
        own = fitting
        warnings.append(f"season {_latest(own).season} was calibrated with another model: allowed by the option")
    if not own:
        warnings += [f"season {profile.season} holds on {day} but is of another model" for profile in fitting]
        return ProfileChoice(None, f"no profile of this model in {folder} holds on {day}", tuple(warnings))
    chosen = _latest(own)
    warnings += [f"season {other.season} holds on {day} too" for other in own if other is not chosen]
    warnings += chosen.doubts()
    return ProfileChoice(chosen, f"season {chosen.season} holds on {day}", tuple(warnings))


def named_profile(
    season: str, folder: Path | None, model_id: str, *, allow_model_mismatch: bool = False
) -> tuple[Profile, tuple[str, ...]]:
    """A profile by its season's name or path, and what a person should know of it.

    Raises:
        ProfileError: it is not there, cannot be read, or is of another model.
    """
    profile = load_profile(season, folder)
    warning = require_model(profile, model_id, allow_model_mismatch=allow_model_mismatch)
    return profile, (*([warning] if warning else []), *profile.doubts())


def require_model(profile: Profile, model_id: str, *, allow_model_mismatch: bool = False) -> str | None:
    """None where the profile is of this model, a warning where another one is allowed.

    Raises:
        ProfileError: it is of another model, and that is not allowed.
    """
    if profile.model_id == model_id:
        return None
    what = f"season {profile.season} was calibrated with model {profile.model_id[:12]}, this is {model_id[:12]}"
    if allow_model_mismatch:
        return f"{what}: allowed by the option"
    raise ProfileError(what, mend="calibrate this model, or pass --allow-model-mismatch and mind the count")


def _read_profiles(folder: Path) -> tuple[list[Profile], list[str]]:
    """Every profile of a folder in the order of names, and what was wrong with the others."""
    profiles, warnings = [], []
    for path in sorted(folder.glob("*" + SUFFIX)):
        found = _profile_or_error(path)
        if isinstance(found, Profile):
            profiles.append(found)
        else:
            warnings.append(f"{found}; not used")
    return profiles, warnings


def _profile_or_error(path: Path) -> Profile | ProfileError:
    try:
        return load_from_folder(path)
    except ProfileError as error:
        return error


def _latest(profiles: list[Profile]) -> Profile:
    """Began last; of several the one whose name comes last."""
    return max(profiles, key=lambda profile: (profile.from_date, profile.season))
