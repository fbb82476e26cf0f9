"""`edgekit calibrate`: from a run and some labels to the season's confidence threshold."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgekit.cli.ui import ForceOption

if TYPE_CHECKING:
    from edgekit.calibration import Profile
    from edgekit.calibration.inputs import FitInputs, ModelFacts

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Set the season's confidence threshold from labels.")

FOLDER = Path("calibration")
JsonOption = Annotated[Path | None, typer.Option("--json", metavar="F", help="Every figure as JSON; - prints it.")]
FolderOption = Annotated[Path, typer.Option("--profiles", help="Folder of season profiles.")]


@app.command(epilog="Example: edgekit calibrate sample runs/row12 --n 60 --out sessions/may")
def sample(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="New folder for the session.")],
    n: Annotated[int, typer.Option("--n", min=1, help="Predictions to check, about as many polygons.")] = 60,
    whole_tiles: Annotated[
        bool, typer.Option("--whole-tiles", help="Choose n whole tiles instead: every fruit in them is labelled.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another choice.")] = 0,
) -> None:
    """Choose what to label: tiles of a run, with the model's predictions as labels to correct.

    Open `labelme/`, `cvat/annotations.xml` or `coco/labels.json` in the tool of your choice and make each outline that
    of the whole fruit; delete it where there is none. Then: `edgekit calibrate fit SESSION --season NAME ...`.
    """
    from edgekit.calibration.session import SampleRequest, sample_run
    from edgekit.cli.ui import progress
    from edgekit.wording import counted

    request = SampleRequest(n, "tiles" if whole_tiles else "marks", seed)
    with progress() as report:
        session = sample_run(run, out, request, progress=report)
    marks = sum(len(tile.checked) for tile in session.tiles)
    tiles = counted(len(session.tiles), "tile")
    wanted = f"{tiles} to label in full" if whole_tiles else f"{counted(marks, 'prediction')} to check"
    pictures = counted(len(session.tiles), "picture")
    typer.echo(f"{out}: {wanted} in {pictures}; correct one of labelme/, cvat/, coco/")


@app.command(epilog="Example: edgekit calibrate fit sessions/may --season pepper-2026-05 --from 2026-05-01")
def fit(
    source: Annotated[Path | None, typer.Argument(metavar="SESSION|LABELS", help="A session, or labels.")] = None,
    run: Annotated[Path | None, typer.Option(help="The run whose predictions the labels are for.")] = None,
    labels: Annotated[Path | None, typer.Option(help="Labels of the session that lie elsewhere.")] = None,
    pairs: Annotated[Path | None, typer.Option(help="Table instead of labels: confidence, iou, tile.")] = None,
    iou: Annotated[list[float] | None, typer.Option(help="Wanted mask IoU; the first sets the profile.")] = None,
    season: Annotated[str | None, typer.Option(help="Name of the profile; without it nothing is written.")] = None,
    crop: Annotated[str, typer.Option(help="Noted in the profile.")] = "",
    place: Annotated[str, typer.Option(help="Noted in the profile.")] = "",
    first_day: Annotated[
        datetime | None, typer.Option("--from", formats=["%Y-%m-%d"], help="First day; default: today.")
    ] = None,
    last_day: Annotated[
        datetime | None, typer.Option("--to", formats=["%Y-%m-%d"], help="Last day; default: 90 days after the first.")
    ] = None,
    unit_pattern: Annotated[
        str | None, typer.Option(help="Of a table: (group) in a tile's name that names its picture.")
    ] = None,
    model: Annotated[Path | None, typer.Option(help="Graph whose predictions a table holds.")] = None,
    profiles: FolderOption = FOLDER,
    bands: Annotated[str | None, typer.Option(help="Edges of heights, such as 0,0.5,1 (0 is the top).")] = None,
    sigma: Annotated[float | None, typer.Option(help="Wanted standard deviation: how many more labels?")] = None,
    good_share: Annotated[float | None, typer.Option(help="Also control the share of good masks, such as 0.8.")] = None,
    delta: Annotated[float, typer.Option(help="Risk that the controlled share is missed.")] = 0.1,
    class_map: Annotated[str, typer.Option(help="Label class=model class, several separated by commas.")] = "",
    leave_out: Annotated[
        bool, typer.Option("--leave-out-suspects", help="Fit without confident predictions that overlap no label.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    report: Annotated[Path | None, typer.Option(help="Write a report: this HTML file, and a PNG beside it.")] = None,
    notes: Annotated[str, typer.Option(help="Noted in the profile.")] = "",
    json_file: JsonOption = None,
    force: ForceOption = False,
) -> None:
    """Fit the threshold at which a mask is expected to reach an IoU, with its uncertainty, and write the profile.

    Where the labels do not carry a threshold, nothing is written and the profile that is in force stays.
    """
    from edgekit.calibration import FitSettings
    from edgekit.calibration.inputs import InputRequest, load_inputs
    from edgekit.calibration.profile import SeasonFacts, require_season
    from edgekit.calibration.report import report_files
    from edgekit.calibration.study import Study, StudyRequest
    from edgekit.cli.calibrate_output import print_study, write_study_report
    from edgekit.cli.ui import prepare_outputs, write_or_print_json
    from edgekit.labels import parse_class_map

    request = StudyRequest(tuple(iou or (0.5,)), _edges(bands), sigma, good_share, delta, run)
    days = _season_days(first_day, last_day)
    if season is not None:
        require_season(season, days)
    prepare_outputs(json_file, *report_files(report), force=force)
    inputs = load_inputs(InputRequest(source, run, labels, pairs, parse_class_map(class_map), unit_pattern))
    facts = None
    if season is not None:  # before the fit: what a profile lacks is told at once
        of = _model_facts(inputs, model)
        facts = SeasonFacts(season, crop, place, *days, of.model_id, of.model, of.precision, notes=notes)
    study = Study.of(inputs, request, FitSettings(seed=seed, leave_out_suspects=leave_out))
    if json_file is not None:
        write_or_print_json(study.as_json(), json_file)
    quiet = json_file is not None and str(json_file) == "-"
    if not quiet:
        print_study(study)
    main = study.require_main(season)
    if report is not None:
        write_study_report(study, report, season)
    if facts is not None:
        _write_season(study.profile(main, facts), profiles, quiet=quiet)


@app.command(epilog="Example: edgekit calibrate report sessions/may --out may.html")
def report(
    source: Annotated[Path | None, typer.Argument(metavar="SESSION|LABELS", help="A session, or labels.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="HTML file; a PNG is written beside it.")] = Path(
        "report.html"
    ),
    run: Annotated[Path | None, typer.Option(help="The run, to show what the threshold does to its count.")] = None,
    labels: Annotated[Path | None, typer.Option(help="Labels of the session that lie elsewhere.")] = None,
    pairs: Annotated[Path | None, typer.Option(help="Table instead of labels: confidence, iou, tile.")] = None,
    iou: Annotated[list[float] | None, typer.Option(help="Wanted mask IoU; the first is drawn.")] = None,
    sigma: Annotated[float | None, typer.Option(help="Wanted standard deviation.")] = None,
    class_map: Annotated[str, typer.Option(help="Label class=model class, several separated by commas.")] = "",
    force: ForceOption = False,
) -> None:
    """Write the report of a session without setting a threshold: diagram, sigma against n, influence, count."""
    from edgekit.calibration import FitSettings
    from edgekit.calibration.inputs import InputRequest, load_inputs
    from edgekit.calibration.report import report_files
    from edgekit.calibration.study import Study, StudyRequest
    from edgekit.cli.calibrate_output import write_study_report
    from edgekit.cli.ui import prepare_outputs
    from edgekit.labels import parse_class_map

    prepare_outputs(*report_files(out), force=force)
    inputs = load_inputs(InputRequest(source, run, labels, pairs, parse_class_map(class_map)))
    study = Study.of(inputs, StudyRequest(tuple(iou or (0.5,)), (), sigma, None, 0.1, run), FitSettings())
    study.require_main(None)
    write_study_report(study, out, None)


@app.command(epilog="Example: edgekit calibrate show pepper-2026-05")
def show(
    profile: Annotated[str, typer.Argument(metavar="PROFILE", help="Season's name, or path of its profile.")],
    profiles: FolderOption = FOLDER,
    json_file: JsonOption = None,
    force: ForceOption = False,
) -> None:
    """Show a season's profile."""
    from edgekit.calibration import load_profile
    from edgekit.calibration.words import as_json, profile_lines
    from edgekit.cli.ui import prepare_outputs, warn, write_or_print_json

    prepare_outputs(json_file, force=force)
    found = load_profile(profile, profiles)
    warn(found.doubts())
    if json_file is not None:
        days = {"from_date": str(found.from_date), "to_date": str(found.to_date)}
        write_or_print_json(as_json(found) | days | {"doubts": list(found.doubts())}, json_file)
        return
    for line in profile_lines(found):
        typer.echo(line)


@app.command(epilog="Example: edgekit calibrate compare pepper-2026-03 pepper-2026-05")
def compare(
    last: Annotated[str, typer.Argument(help="Last season's profile: name or path.")],
    this: Annotated[str, typer.Argument(help="This season's profile: name or path.")],
    profiles: FolderOption = FOLDER,
    json_file: JsonOption = None,
    force: ForceOption = False,
) -> None:
    """Say whether last season's threshold may be kept; ends with 1 where it must be calibrated again."""
    from edgekit.calibration import load_profile
    from edgekit.calibration.compare import compare_seasons
    from edgekit.calibration.words import as_json, comparison_line
    from edgekit.cli.ui import prepare_outputs, warn, write_or_print_json

    prepare_outputs(json_file, force=force)
    seasons = load_profile(last, profiles), load_profile(this, profiles)
    warn(dict.fromkeys(doubt for season in seasons for doubt in season.doubts()))
    found = compare_seasons(*seasons)
    if json_file is not None:
        write_or_print_json(as_json(found), json_file)
    if json_file is None or str(json_file) != "-":
        typer.echo(comparison_line(found))
    raise typer.Exit(0 if found.verdict == "keep" else 1)


@app.command(epilog="Example: edgekit calibrate apply pepper-2026-05 --run runs/row12")
def apply(
    profile: Annotated[str, typer.Argument(metavar="PROFILE", help="Season's name, or path of its profile.")],
    run: Annotated[Path, typer.Option(help="Folder of a run.")],
    profiles: FolderOption = FOLDER,
    allow_mismatch: Annotated[
        bool, typer.Option("--allow-model-mismatch", help="Apply the profile of another model; recorded.")
    ] = False,
    json_file: JsonOption = None,
    force: ForceOption = False,
) -> None:
    """Count a run with a season's threshold and at both ends of its interval; kept in the run as calibrated.json."""
    from edgekit.calibration import load_profile, require_model
    from edgekit.calibration.count_effect import count_by_height, count_effect, drift_of_run
    from edgekit.calibration.words import as_json, count_line
    from edgekit.cli.ui import prepare_outputs, warn, write_or_print_json

    prepare_outputs(json_file, force=force)
    found = load_profile(profile, profiles)
    low, high = found.uncertainty.interval
    effect = count_effect(run, found.threshold, (low, high))
    mismatch = require_model(found, effect.model_id, allow_model_mismatch=allow_mismatch)
    warnings = [*([mismatch] if mismatch else []), *found.doubts()]
    warn(warnings)
    answer: dict[str, Any] = {"season": found.season, "warning": "; ".join(warnings) or None, **as_json(effect)}
    if found.bands:
        answer["fruit_by_height"] = count_by_height(run, found)
    drift = None if found.confidences is None else drift_of_run(run, found.confidences)
    answer["drift"] = as_json(drift)
    write_or_print_json(answer, run / "calibrated.json")
    if json_file is not None:
        write_or_print_json(answer, json_file)
    if json_file is None or str(json_file) != "-":
        typer.echo(count_line(effect))
        if found.bands:
            typer.echo(f"{answer['fruit_by_height']} fruit with the thresholds by height")
        if drift is not None:
            typer.echo(drift.sentence())


def _edges(text: str | None) -> tuple[float, ...]:
    from edgekit.errors import SettingsError

    try:
        return tuple(float(part) for part in text.split(",")) if text else ()
    except ValueError as error:
        raise SettingsError(f"bands {text!r}", mend="write rising numbers, such as 0,0.5,1") from error


def _model_facts(inputs: FitInputs, model: Path | None) -> ModelFacts:
    """The model of the session or run; for a table, of the graph or engine that was named."""
    from edgekit.bench.artifacts import read_artifact_info
    from edgekit.calibration.inputs import ModelFacts
    from edgekit.errors import SettingsError

    if inputs.model is not None and model is not None:
        raise SettingsError("--model is for a table: a session or run knows its model", mend="leave it out")
    if inputs.model is not None:
        return inputs.model
    if model is None:
        raise SettingsError("a table does not say which model it is of", mend="name its graph: --model M.onnx")
    info = read_artifact_info(model)
    return ModelFacts(info.model_id, info.model, info.precision, info.score_floor)


def _season_days(first: datetime | None, last: datetime | None) -> tuple[date, date]:
    """First and last day: from today on, for 90 days, where nothing is said."""
    from datetime import timedelta

    begin = first.date() if first else date.today()
    return begin, last.date() if last else begin + min(timedelta(days=90), date.max - begin)


def _write_season(profile: Profile, folder: Path, *, quiet: bool) -> None:
    from edgekit.calibration import write_profile

    path = write_profile(profile, folder)
    if not quiet:
        typer.echo(f"{path}: season {profile.season} from {profile.from_date} to {profile.to_date}")
