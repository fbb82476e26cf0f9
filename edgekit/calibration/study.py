"""Everything that a session says, for every IoU target: fits, controlled thresholds, plans, bands, counts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgekit.calibration.bands import BandsResult, fit_bands, require_edges
from edgekit.calibration.build_profile import build_profile, digest_of
from edgekit.calibration.count_effect import CountEffect, count_effect
from edgekit.calibration.f1 import BestF1, best_f1
from edgekit.calibration.fit import fit_thresholds, require_iou_target
from edgekit.calibration.inputs import FitInputs
from edgekit.calibration.planning import LabelPlan, plan_labels, require_sigma
from edgekit.calibration.profile import Profile, ProfileBand, ProfileLabels, SeasonFacts
from edgekit.calibration.refusal import CalibrationRefused
from edgekit.calibration.results import ThresholdFit
from edgekit.calibration.risk import RiskControl, control_risk, require_promise
from edgekit.calibration.settings import FitSettings
from edgekit.calibration.words import as_json


@dataclass(frozen=True)
class StudyRequest:
    """What is asked beside the fit.

    Raises:
        SettingsError: targets, edges or shares that cannot be.
    """

    iou_targets: tuple[float, ...]
    """The first sets the profile."""
    band_edges: tuple[float, ...] = ()
    sigma_wanted: float | None = None
    good_share: float | None = None
    delta: float = 0.1
    run: Path | None = None
    """To tell what the threshold does to its count."""

    def __post_init__(self) -> None:
        for target in self.iou_targets:
            require_iou_target(target)
        if self.band_edges:
            require_edges(self.band_edges)
        if self.sigma_wanted is not None:
            require_sigma(self.sigma_wanted)
        if self.good_share is not None:
            require_promise(self.iou_targets[0], self.good_share, self.delta)


@dataclass(frozen=True, eq=False)
class Study:
    """The findings; what was not asked for, or cannot be had without a fit, is None."""

    inputs: FitInputs
    request: StudyRequest
    settings: FitSettings
    fits: dict[float, ThresholdFit | CalibrationRefused]
    risk: RiskControl | CalibrationRefused | None
    f1: BestF1 | None
    plan: LabelPlan | None
    bands: BandsResult | None
    counts: CountEffect | None

    @classmethod
    def of(cls, inputs: FitInputs, request: StudyRequest, settings: FitSettings) -> Study:
        """Fit every target and answer what was asked.

        Raises:
            SettingsError: bands are wanted of pairs without heights.
            RunFolderError: the run cannot be read.
        """
        fits = fit_thresholds(inputs.pairs, request.iou_targets, settings=settings)
        main = fits[request.iou_targets[0]]
        fitted = main if isinstance(main, ThresholdFit) else None
        f1 = None
        if inputs.hits is not None and inputs.labels is not None:
            f1 = best_f1(inputs.pairs.confidence, inputs.hits, inputs.labels)
        plan = bands = counts = None
        if fitted is not None:
            plan = plan_labels(fitted, request.sigma_wanted) if request.sigma_wanted is not None else None
            if request.band_edges:
                bands = fit_bands(inputs.pairs, fitted, request.band_edges, settings=settings)
            if request.run is not None:
                counts = count_effect(request.run, fitted.threshold, fitted.uncertainty.acted)
        return cls(inputs, request, settings, fits, _risk(inputs, request), f1, plan, bands, counts)

    def require_main(self, season: str | None) -> ThresholdFit:
        """The fit of the first target.

        Raises:
            CalibrationRefused: it was refused; the profile of the season, where there is one, is as it was.
        """
        main = self.fits[self.request.iou_targets[0]]
        if isinstance(main, ThresholdFit):
            return main
        what = f"no threshold for IoU {self.request.iou_targets[0]:g}: {main.what}"
        if season is not None:
            what += f"; season {season} is left as it is"
        raise CalibrationRefused(main.reason, what, mend=main.mend or "")

    def profile(self, fit: ThresholdFit, facts: SeasonFacts) -> Profile:
        """The profile of a fit of this study.

        Raises:
            SettingsError: a name or dates that cannot be.
        """
        apart = self.bands is not None and self.bands.separate
        bands = () if self.bands is None or not apart else tuple(
            ProfileBand(band.top, band.bottom, band.threshold, band.sigma or fit.uncertainty.sigma_units, band.n)
            for band in self.bands.bands
        )  # fmt: skip
        pairs, inputs = self.inputs.pairs, self.inputs
        labels = ProfileLabels(digest_of(pairs), inputs.origin, len(inputs.skipped))
        return build_profile(fit, pairs, facts, level=self.settings.level, bands=bands, labels=labels)

    def as_json(self) -> dict[str, Any]:
        """Every figure as plain JSON values."""
        return {
            "origin": self.inputs.origin,
            "model_id": None if self.inputs.model is None else self.inputs.model.model_id,
            "pairs": len(self.inputs.pairs),
            "labels": self.inputs.labels,
            "labelled_tiles": self.inputs.labelled_tiles,
            "skipped": list(self.inputs.skipped),
            "settings": as_json(self.settings),
            "fits": [{"iou_target": target, **as_json(found)} for target, found in self.fits.items()],
            "risk_control": as_json(self.risk),
            "best_f1": as_json(self.f1),
            "plan": as_json(self.plan),
            "bands": as_json(self.bands),
            "counts": as_json(self.counts),
        }


def _risk(inputs: FitInputs, request: StudyRequest) -> RiskControl | CalibrationRefused | None:
    if request.good_share is None:
        return None
    try:
        target = request.iou_targets[0]
        return control_risk(inputs.pairs, target, good_share=request.good_share, delta=request.delta)
    except CalibrationRefused as refusal:
        return refusal
