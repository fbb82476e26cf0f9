"""What a run keeps of a season's profile, and what it watches its confidences with."""

from __future__ import annotations

import json
from dataclasses import asdict

from edgekit.calibration.drift import ConfidenceReference, DriftMonitor
from edgekit.calibration.profile import Profile
from edgekit.settings_file import settings_from
from edgekit.store import HeightBand, Season


def season_of(profile: Profile) -> Season:
    """The part of a profile that is stored with a run."""
    bands = tuple(HeightBand(band.top, band.bottom, band.threshold) for band in profile.bands)
    known = None if profile.confidences is None else json.loads(json.dumps(asdict(profile.confidences)))
    return Season(profile.season, bands, known)


def drift_monitor(season: Season | None) -> DriftMonitor | None:
    """The test of a run's confidences against the season's; None where nothing is known of them."""
    if season is None or season.confidences is None:
        return None
    return DriftMonitor(settings_from(season.confidences, ConfidenceReference))
