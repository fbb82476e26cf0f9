"""Where a fit stops: each gate raises one kind of refusal, with what was got and what to do."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from edgekit.calibration.fieller import Bounds
from edgekit.calibration.influence import TileInfluence, suspect_rows
from edgekit.calibration.moments import Moments
from edgekit.calibration.pairs import Pairs
from edgekit.calibration.refusal import CalibrationRefused, Reason
from edgekit.calibration.regression import fit_line
from edgekit.calibration.settings import FitSettings
from edgekit.wording import counted

SAME = 1e-12
"""Variances up to this count as none: rounding of equal scores leaves about 1e-17."""


def require_fair_pairs(used: Pairs, given: Pairs, settings: FitSettings) -> None:
    """Enough pairs, in enough tiles, most of which the labels can speak for.

    Raises:
        CalibrationRefused: too few pairs, too few tiles, or too many suspects.
    """
    suspects = suspect_rows(given, settings)
    share = float(suspects.sum()) / max(len(given), 1)
    limit = 1 - settings.min_inlier_share if settings.leave_out_suspects else settings.max_suspect_share
    if share > limit:
        names = ", ".join(_tiles_by_count(given.select(suspects))[:5])
        what = (
            f"confident but overlapping no label: {int(suspects.sum())} of {len(given)} predictions (most in {names})"
        )
        mend = "label the fruit that is missing there, or leave such predictions out with --leave-out-suspects"
        raise CalibrationRefused(Reason.TOO_FEW_INLIERS, what, mend=mend)
    if len(used) < settings.min_pairs:
        left_out = len(given) - len(used)
        below = f", {left_out} more left out (below the score floor {settings.score_floor:g}, or suspects)"
        what = f"{counted(len(used), 'pair')}, at least {settings.min_pairs} are needed{below if left_out else ''}"
        mend = "label more tiles" if len(given) else "label tiles in which the model finds something"
        raise CalibrationRefused(Reason.TOO_FEW_PAIRS, what, mend=mend)
    units = used.by_unit.number
    if units < settings.min_units:
        kind = (
            counted(units, "tile") if used.unit is None else f"{counted(units, 'unit')} (pictures, or stretches of row)"
        )
        what = f"the pairs come from {kind}, at least {settings.min_units} are needed"
        raise CalibrationRefused(Reason.TOO_FEW_TILES, what, mend="label more tiles, a few fruit in each are enough")


def require_rising_line(used: Pairs, moments: Moments) -> None:
    """Confidence and IoU both vary, and the one rises with the other.

    Raises:
        CalibrationRefused: constant confidence, constant IoU, or a slope that is not positive.
    """
    if float(moments.var_x) <= SAME:
        what = f"all {len(used)} predictions have the confidence {used.confidence[0]:g}"
        raise CalibrationRefused(Reason.CONSTANT_CONFIDENCE, what, mend="pair predictions down to the score floor")
    if float(moments.var_y) <= SAME:
        what = f"all {len(used)} predictions have the IoU {used.iou[0]:g}"
        mend = "check that pictures and labels belong together, and pair predictions down to the score floor"
        raise CalibrationRefused(Reason.CONSTANT_IOU, what, mend=mend)
    slope = float(fit_line(moments).b1)
    if slope <= 0:
        what = f"IoU falls as confidence rises (slope {slope:.3f})"
        mend = "check for fruit that nobody labelled; a model whose confidence says nothing needs more training"
        raise CalibrationRefused(Reason.NEGATIVE_SLOPE, what, mend=mend)


def require_acted_interval(
    bounds: dict[str, Bounds], influence: Sequence[TileInfluence], doubt: float, level: float
) -> None:
    """Every interval that is acted on has two ends; `doubt` is the larger `slope_doubt` of the line.

    Raises:
        CalibrationRefused: the slope is not told from zero by one of the procedures.
    """
    for name, found in bounds.items():
        if not bool(np.all(found.bounded)):
            size = f"{sum(row.pairs for row in influence)} pairs, {len(influence)} tiles"
            what = f"the slope is not told from zero at {level:.0%} ({name.replace('_', ' ')}, {size})"
            times = f"about {max(2, math.ceil(1.5 * doubt))} times as many labels are needed"
            mend = f"look at tile {influence[0].tile}, which moves the line most; {times}"
            raise CalibrationRefused(Reason.UNBOUNDED, what, mend=mend)


def require_place_for_threshold(used: Pairs, threshold: float, iou_target: float) -> None:
    """The threshold is a confidence, and one that was seen.

    Raises:
        CalibrationRefused: a threshold outside 0 to 1, or outside the confidences of the pairs.
    """
    low, high = float(used.confidence.min()), float(used.confidence.max())
    if not 0 < threshold < 1:
        what = f"the line reaches IoU {iou_target:g} at confidence {threshold:.3f}, which is no confidence"
        raise CalibrationRefused(Reason.OUTSIDE_UNIT, what, mend=_other_target(threshold <= 0))
    if not low <= threshold <= high:
        what = (
            f"the line reaches IoU {iou_target:g} at confidence {threshold:.3f}, seen were only {low:.3f} to {high:.3f}"
        )
        raise CalibrationRefused(Reason.OUTSIDE_DATA, what, mend=_other_target(threshold < low))


def _other_target(too_low: bool) -> str:
    if too_low:
        return "nearly every prediction reaches the target: ask for a higher IoU, or pair predictions down to the floor"
    return "hardly any prediction reaches the target: ask for a lower IoU, or train the model further"


def _tiles_by_count(pairs: Pairs) -> list[str]:
    names, codes = pairs.by_tile
    counts = np.bincount(codes)
    return [names[i] for i in np.argsort(-counts, kind="stable")]
