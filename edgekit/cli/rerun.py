"""`edgekit rerun`: a second look at a run that is there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: edgekit rerun runs/row12 --model better.onnx --out runs/row12-better")
def rerun(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run whose panoramas were kept.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the new run.")],
    model: Annotated[
        str | None, typer.Option(help="ONNX graph, engine, or `active`; default: the model that comes along.")
    ] = None,
    threshold: Annotated[float | None, typer.Option(help="Confidence from which a fruit counts.")] = None,
    season: Annotated[str | None, typer.Option(help="Season profile: name, path, or `active`.")] = None,
    profiles: Annotated[Path | None, typer.Option(help="Folder of season profiles.")] = None,
    backend: Annotated[str, typer.Option(help="auto, onnxruntime or tensorrt.")] = "auto",
    provider: Annotated[str, typer.Option(help="Where ONNX Runtime runs the model: cpu, cuda, tensorrt, ...")] = "cpu",
    threads: Annotated[int | None, typer.Option(help="Threads that the model may use; default: one a core.")] = None,
    allow_mismatch: Annotated[
        bool, typer.Option("--allow-model-mismatch", help="Use the threshold of another model's season; recorded.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no result lines.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print summary and comparison as JSON.")] = False,
) -> None:
    """Segment the stored panoramas of a run again, with another model or threshold, and compare the counts.

    Frames are not needed: rows keep their names, their scale and what is known of their panoramas. The run itself is
    not touched. The pictures are shared with it where the disk allows, so that they take no more space.
    """
    from edgekit.cli.threshold import ThresholdRequest, begun_plan, profile_folder, resolve_threshold
    from edgekit.cli.ui import print_json, progress
    from edgekit.runtime.installed.named import named_model, named_profile
    from edgekit.runtime.job import Job
    from edgekit.runtime.models import opened_models
    from edgekit.runtime.pipeline import run_job
    from edgekit.runtime.rerun import compare_runs, stored_panoramas
    from edgekit.segment import SegmenterSettings
    from edgekit.store import RunFolder

    RunFolder(out).check_free()  # before anything is said of a run that goes on
    stored = stored_panoramas(folder)
    for line in stored.left_out:
        typer.echo(f"note: left out: {line}", err=True)
    path = named_model(model)
    engine = SegmenterSettings(provider=provider, threads=threads, backend=backend)
    with opened_models(path, engine) as models, progress(quiet=quiet) as report:
        wanted = ThresholdRequest(
            threshold, named_profile(season), allow_mismatch, profile_folder(profiles), begun_plan(out)
        )
        chosen = resolve_threshold(wanted, models[0].info)
        for warning in chosen.warnings:
            typer.echo(f"warning: {warning}", err=True)
        settings = stored.settings.with_tile_size(models[0].info.tile_size_px)
        judged = (chosen.value, chosen.origin, chosen.season)
        job = Job(stored.sources, path.name, settings, *judged, built=stored.rows)
        summary = run_job(job, out, models, progress=report)
    comparison = compare_runs(folder, out)
    if as_json:
        print_json({"summary": summary, "comparison": comparison})
    elif not quiet:
        _print(comparison)


def _print(comparison: dict[str, Any]) -> None:
    """The counts side by side."""
    width = max(len(row["source"]) for row in comparison["rows"])
    typer.echo(f"{'':{width}}  {'before':>8}  {'now':>8}  {'more':>8}")
    total = {"source": "all", "fruit": comparison["fruit"], "difference": None}
    total["difference"] = comparison["fruit"][1] - comparison["fruit"][0]
    for row in [*comparison["rows"], *([total] if len(comparison["rows"]) > 1 else [])]:
        before, now, more = ("-" if value is None else str(value) for value in (*row["fruit"], row["difference"]))
        typer.echo(f"{row['source']:{width}}  {before:>8}  {now:>8}  {more:>8}")
    for side, word in enumerate(("before", "now")):
        name, at, origin = (comparison[key][side] for key in ("model", "threshold", "threshold_from"))
        typer.echo(f"{word}: {name}, confidence >= {at:g} ({origin}), {comparison['run'][side]}")
