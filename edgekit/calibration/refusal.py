"""Why a threshold was not set. A refusal leaves the profile that is in force as it is."""

from __future__ import annotations

from enum import Enum

from edgekit.errors import CalibrationError


class Reason(Enum):
    """The typed reason of a refusal; the value is what JSON output says."""

    TOO_FEW_PAIRS = "too-few-pairs"
    TOO_FEW_TILES = "too-few-tiles"
    NOT_FINITE = "not-finite"
    NOT_A_SHARE = "not-a-share"
    CONSTANT_CONFIDENCE = "constant-confidence"
    CONSTANT_IOU = "constant-iou"
    NEGATIVE_SLOPE = "negative-slope"
    UNBOUNDED = "unbounded-interval"
    OUTSIDE_UNIT = "threshold-outside-0-1"
    OUTSIDE_DATA = "threshold-outside-data"
    TOO_FEW_INLIERS = "too-few-inliers"
    TARGET_NOT_REACHED = "target-not-reached"


class CalibrationRefused(CalibrationError):  # noqa: N818 - a refusal is an answer, not a fault
    """The pairs do not carry a threshold.

    Args:
        reason: the typed reason.
        what: what is wrong, with what was got.
        mend: what to do about it.
    """

    def __init__(self, reason: Reason, what: str, *, mend: str) -> None:
        self.reason = reason
        super().__init__(what, mend=mend)
