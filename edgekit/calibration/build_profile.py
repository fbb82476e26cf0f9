"""From a fit to the profile that is stored."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import date

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
)
from edgekit.calibration.results import ThresholdFit


@dataclass(frozen=True)
class SeasonFacts:
    """What only the person and the run know of a season."""

    season: str
    crop: str
    place: str
    from_date: date
    to_date: date
    model_id: str
    model: str
    precision: str
    labels_source: str = ""
    labels_skipped: int = 0
    notes: str = ""


def build_profile(
    fit: ThresholdFit,
    pairs: Pairs,
    facts: SeasonFacts,
    *,
    level: float,
    bands: tuple[ProfileBand, ...] = (),
) -> Profile:
    """The profile of a fit.

    Raises:
        SettingsError: a season's name that cannot be a file's, or dates in the wrong order.
    """
    return Profile(
        format=PROFILE_FORMAT,
        season=facts.season,
        crop=facts.crop,
        place=facts.place,
        from_date=facts.from_date,
        to_date=facts.to_date,
        model_id=facts.model_id,
        model=facts.model,
        precision=facts.precision,
        iou_target=fit.iou_target,
        threshold=fit.threshold,
        rule=fit.rule,
        uncertainty=_uncertainty(fit, level),
        relation=ProfileRelation(
            b0=fit.b0,
            b1=fit.b1,
            n=fit.n,
            tiles=fit.tiles,
            units=fit.units,
            r=fit.r,
            r_squared=fit.r_squared,
            r_interval=tuple(fit.r_interval or ()),
            p_value=fit.p_value,
        ),
        labels=ProfileLabels(digest_of(pairs), facts.labels_source, facts.labels_skipped),
        end=ProfileEnd(complete=True),
        confidences=reference_of(pairs),
        bands=bands,
        notes=facts.notes,
        warnings=fit.warnings,
        edgekit=__version__,
    )


def _uncertainty(fit: ThresholdFit, level: float) -> ProfileUncertainty:
    error = fit.uncertainty
    return ProfileUncertainty(
        level=level,
        sigma=error.sigma,
        sigma_units=error.sigma_units,
        interval=tuple(error.acted),
        fieller=tuple(error.fieller),
        unit_fieller=tuple(error.unit_fieller),
        bootstrap=tuple(error.bootstrap),
    )


def digest_of(pairs: Pairs) -> str:
    """SHA-256 of the pairs, whatever their order."""
    rows = np.lexsort((pairs.iou, pairs.confidence, pairs.tile))
    lines = (f"{pairs.tile[i]}\t{pairs.confidence[i]!r}\t{pairs.iou[i]!r}\n" for i in rows)
    return hashlib.sha256("".join(lines).encode()).hexdigest()
