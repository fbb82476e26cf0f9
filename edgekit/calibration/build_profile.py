"""From a fit to the profile that is stored."""

from __future__ import annotations

import hashlib

import numpy as np

from edgekit import __version__
from edgekit.calibration.drift import reference_of
from edgekit.calibration.pairs import Pairs
from edgekit.calibration.profile import (
    PROFILE_FORMAT,
    Profile,
    ProfileBand,
    ProfileEnd,
    ProfileLabels,
    ProfileRelation,
    ProfileUncertainty,
    SeasonFacts,
)
from edgekit.calibration.results import ThresholdFit, Uncertainty


def build_profile(
    fit: ThresholdFit,
    pairs: Pairs,
    facts: SeasonFacts,
    *,
    level: float,
    bands: tuple[ProfileBand, ...] = (),
    labels: ProfileLabels | None = None,
) -> Profile:
    """The profile of a fit.

    Args:
        fit: the threshold.
        pairs: what it was fitted on.
        facts: whose it is.
        level: confidence level of the intervals.
        bands: thresholds by height.
        labels: where the pairs come from; None where only they are known.

    Raises:
        SettingsError: a season's name that cannot be a file's, or dates in the wrong order.
    """
    return Profile(
        **vars(facts),
        format=PROFILE_FORMAT,
        iou_target=fit.iou_target,
        threshold=fit.threshold,
        rule=fit.rule,
        uncertainty=_uncertainty(fit.uncertainty, level),
        relation=_relation(fit),
        labels=labels or ProfileLabels(digest_of(pairs)),
        end=ProfileEnd(complete=True),
        confidences=reference_of(pairs),
        bands=bands,
        warnings=fit.warnings,
        edgekit=__version__,
    )


def _uncertainty(error: Uncertainty, level: float) -> ProfileUncertainty:
    return ProfileUncertainty(
        level=level,
        sigma=error.sigma,
        sigma_units=error.sigma_units,
        interval=tuple(error.acted),
        fieller=tuple(error.fieller),
        unit_fieller=tuple(error.unit_fieller),
        bootstrap=tuple(error.bootstrap),
    )


def _relation(fit: ThresholdFit) -> ProfileRelation:
    return ProfileRelation(
        b0=fit.b0,
        b1=fit.b1,
        n=fit.n,
        tiles=fit.tiles,
        units=fit.units,
        r=fit.r,
        r_squared=fit.r_squared,
        r_interval=tuple(fit.r_interval or ()),
        p_value=fit.p_value,
    )


def digest_of(pairs: Pairs) -> str:
    """SHA-256 of the pairs, whatever their order."""
    rows = np.lexsort((pairs.iou, pairs.confidence, pairs.tile))
    lines = (f"{pairs.tile[i]}\t{pairs.confidence[i]!r}\t{pairs.iou[i]!r}\n" for i in rows)
    return hashlib.sha256("".join(lines).encode()).hexdigest()
