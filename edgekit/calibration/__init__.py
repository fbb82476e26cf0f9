"""Confidence against mask IoU: a threshold for the season, with its uncertainty, or a refusal with its reason."""

from edgekit.calibration.fit import Interval, ThresholdFit, Uncertainty, fit_threshold, fit_thresholds
from edgekit.calibration.pairs import Pairs
from edgekit.calibration.refusal import CalibrationRefused, Reason
from edgekit.calibration.settings import FitSettings

__all__ = [
    "CalibrationRefused",
    "FitSettings",
    "Interval",
    "Pairs",
    "Reason",
    "ThresholdFit",
    "Uncertainty",
    "fit_threshold",
    "fit_thresholds",
]
