"""Confidence against mask IoU: a threshold for the season, with its uncertainty, or a refusal with its reason."""

from edgekit.calibration.drift import ConfidenceReference, DriftMonitor, DriftSettings, DriftStatus
from edgekit.calibration.fit import fit_threshold, fit_thresholds
from edgekit.calibration.for_run import drift_monitor, season_of
from edgekit.calibration.pairs import Pairs
from edgekit.calibration.profile import Profile, ProfileBand
from edgekit.calibration.profile_file import load_profile, write_profile
from edgekit.calibration.refusal import CalibrationRefused, Reason
from edgekit.calibration.results import Interval, ThresholdFit, Uncertainty
from edgekit.calibration.seasons import ProfileChoice, named_profile, pick_profile, require_model
from edgekit.calibration.settings import FitSettings

__all__ = [
    "CalibrationRefused",
    "ConfidenceReference",
    "DriftMonitor",
    "DriftSettings",
    "DriftStatus",
    "FitSettings",
    "Interval",
    "Pairs",
    "Profile",
    "ProfileBand",
    "ProfileChoice",
    "Reason",
    "ThresholdFit",
    "Uncertainty",
    "drift_monitor",
    "fit_threshold",
    "fit_thresholds",
    "load_profile",
    "named_profile",
    "pick_profile",
    "require_model",
    "season_of",
    "write_profile",
]
