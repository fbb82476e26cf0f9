"""What `edgekit calibrate` prints of a study, and its report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import typer

from edgekit.calibration.refusal import CalibrationRefused
from edgekit.calibration.results import ThresholdFit
from edgekit.calibration.study import Study
from edgekit.calibration.words import bands_lines, count_line, fit_lines, plan_line

SHOWN_SKIPPED = 10


def print_study(study: Study) -> None:
    """Fits and findings on standard output; what was skipped on standard error."""
    skipped = study.inputs.skipped
    for line in skipped[:SHOWN_SKIPPED]:
        typer.echo(f"skipped: {line}", err=True)
    if len(skipped) > SHOWN_SKIPPED:
        typer.echo(f"skipped: {len(skipped) - SHOWN_SKIPPED} more, all of them in --json", err=True)
    first, *others = study.fits.items()
    for target, found in (first, *others):
        if isinstance(found, ThresholdFit):
            for line in fit_lines(found):
                typer.echo(line)
        elif target != first[0]:  # a refusal of the first target is what the command ends with
            typer.echo(f"no threshold for IoU {target:g}: {found}")
    for line in findings(study):
        typer.echo(line)


def findings(study: Study) -> Iterator[str]:
    """What was asked beside the fit."""
    if isinstance(study.risk, CalibrationRefused):
        yield f"risk control: {study.risk}"
    elif study.risk is not None:
        promise = f"{100 * study.risk.good_share:g} % of masks with IoU >= {study.risk.iou_target:g}"
        risk = f"{100 * study.risk.delta:g} %"
        yield f"risk control: {promise} from {study.risk.threshold:.2f} on, but for a risk of {risk}"
    if study.f1 is not None:
        yield f"best F1: {study.f1.f1:.3f} at {study.f1.threshold:.2f} (for comparison)"
    if study.plan is not None:
        yield plan_line(study.plan)
    if study.bands is not None:
        yield from bands_lines(study.bands)
    if study.counts is not None:
        yield count_line(study.counts)


def write_study_report(study: Study, path: Path, season: str | None) -> None:
    """Write the report and say where it lies."""
    from edgekit.calibration.report import ReportContent, write_report

    fits = tuple(found for found in study.fits.values() if isinstance(found, ThresholdFit))
    lines = (*findings(study), *(f"skipped: {line}" for line in study.inputs.skipped))
    title = f"Calibration of {season or study.inputs.origin}"
    used = study.inputs.pairs.select(study.inputs.pairs.confidence >= study.settings.score_floor)
    content = ReportContent(title, used, fits, lines, study.request.run, study.counts, study.request.sigma_wanted)
    page, picture = write_report(content, path)
    typer.echo(f"{page}, {picture}")
