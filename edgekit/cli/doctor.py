"""`edgekit doctor`: is this machine ready to count?"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from edgekit.doctor import Finding, Question

app = typer.Typer(add_completion=False)

_COLOURS = {
    "ok": typer.colors.GREEN,
    "unchecked": typer.colors.BLUE,
    "warning": typer.colors.YELLOW,
    "fault": typer.colors.RED,
}


@app.command(epilog="Example: edgekit doctor --site trolley.toml")
def doctor(
    site: Annotated[Path | None, typer.Option(help="Site file: its cameras, model and folder are looked at.")] = None,
    models: Annotated[
        list[Path] | None, typer.Option(help="Folder with engines to look at; may be given again. Default: models.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the runs; with --site, the site's.")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Look at Python, packages, OpenCV, GStreamer, GPU, TensorRT, engines, board, disk, clock and cameras.

    Nothing is changed, installed or sent. Ends with 0 where nothing is at fault (warnings may be), else with 1.
    """
    from edgekit.cli.ui import print_json
    from edgekit.doctor import Probes, examine

    question = _question(site, tuple(models or [Path("models")]), out)
    findings: list[Finding] = []
    for finding in examine(Probes(), question):
        findings.append(finding)
        if not as_json:
            _print(finding)
    faults = sum(finding.state == "fault" for finding in findings)
    warnings = sum(finding.state == "warning" for finding in findings)
    open_points = sum(finding.state == "unchecked" for finding in findings)
    unseen = f", {open_points} not checked" if open_points else ""
    if as_json:
        lines = [asdict(finding) for finding in findings]
        print_json({"ready": not faults, "faults": faults, "warnings": warnings, "findings": lines})
    else:
        typer.echo(f"\n{faults} at fault, {warnings} warnings{unseen}")
    raise typer.Exit(1 if faults else 0)


def _print(finding: Finding) -> None:
    state = typer.style(f"{finding.state:<10}", fg=_COLOURS[finding.state])
    typer.echo(f"{state}{finding.subject:<16}{finding.text}")
    if finding.mend:
        typer.echo(f"{'':<26}-> {finding.mend}")


def _question(site: Path | None, models: tuple[Path, ...], out: Path) -> Question:
    from edgekit.doctor import Question
    from edgekit.runtime.live.site import read_site, ready_cameras

    if site is None:
        return Question(models, out)
    found = read_site(site)
    cameras = tuple((camera.name, camera.description) for camera in ready_cameras(found))
    folders = (*models, found.model.parent) if found.model is not None else models
    wants_gpu = found.backend == "tensorrt" or found.provider.lower() not in ("cpu", "cpuexecutionprovider")
    return Question(folders, found.out, cameras, wants_gpu, found.encoder.file)
