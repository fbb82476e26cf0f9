"""From a fit to the profile that is stored."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from datetime import date
from typing import Any

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
    interval = tuple(fit.r_interval or ())
    error = {name: tuple(getattr(fit.uncertainty, name)) for name in ("fieller", "unit_fieller", "bootstrap")}
    known = {
        "uncertainty": ProfileUncertainty(
            **_shared(ProfileUncertainty, fit.uncertainty) | error, level=level, interval=tuple(fit.uncertainty.acted)
        ),
        "relation": ProfileRelation(**_shared(ProfileRelation, fit) | {"r_interval": interval}),
    }
    return Profile(
        **_shared(Profile, fit) | _shared(Profile, facts) | known,
        format=PROFILE_FORMAT,
        labels=ProfileLabels(digest_of(pairs), facts.labels_source, facts.labels_skipped),
        end=ProfileEnd(complete=True),
        confidences=reference_of(pairs),
        bands=bands,
        edgekit=__version__,
    )


def _shared(kind: type, source: object) -> dict[str, Any]:
    """What `source` knows under the names of the fields of `kind`."""
    return {item.name: getattr(source, item.name) for item in fields(kind) if hasattr(source, item.name)}


def digest_of(pairs: Pairs) -> str:
    """SHA-256 of the pairs, whatever their order."""
    rows = np.lexsort((pairs.iou, pairs.confidence, pairs.tile))
    lines = (f"{pairs.tile[i]}\t{pairs.confidence[i]!r}\t{pairs.iou[i]!r}\n" for i in rows)
    return hashlib.sha256("".join(lines).encode()).hexdigest()
