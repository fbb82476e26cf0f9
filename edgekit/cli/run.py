"""`edgekit run`: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from edgekit.runtime.settings import RunSettings
    from edgekit.store.summary import Summary

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: edgekit run row12.mp4 --out runs/row12")
def run(
    sources: Annotated[
        list[Path] | None, typer.Argument(metavar="SOURCE...", help="Rows: a video or a folder of frames each.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the run: new, or of a run that was cut.")
    ] = None,
    site: Annotated[
        Path | None, typer.Option(help="Site file (trolley.toml): count what its cameras see, until stopped.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Graph, engine or `active`; default: the fruit model that comes along.")
    ] = None,
    threshold: Annotated[float | None, typer.Option(help="Confidence from which a fruit counts.")] = None,
    season: Annotated[
        str | None, typer.Option(help="Season profile that sets the threshold: name, path or `active`.")
    ] = None,
    profiles: Annotated[
        Path | None,
        typer.Option(
            envvar="EDGEKIT_PROFILES",
            help="Folder of season profiles; default: calibration/, else /etc/edgekit/calibration.",
        ),
    ] = None,
    panorama: Annotated[
        bool, typer.Option("--panorama", help="Sources are finished panoramas: pictures, or folders of segments.")
    ] = False,
    markers: Annotated[
        bool, typer.Option("--markers", help="Sources are long recordings: printed markers open and close their rows.")
    ] = False,
    camera: Annotated[
        Path | None,
        typer.Option(help="Description (TOML) of the camera that recorded the rows."),
    ] = None,
    fps: Annotated[
        float | None, typer.Option(help="Frames a second of folders of pictures. Default: the camera's, else 30.")
    ] = None,
    encoder: Annotated[
        Path | None, typer.Option(help="Encoder: CSV (time_s, and position_mm or ticks), or a folder with one a row.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Settings (TOML), see `edgekit init`: runtime/run.toml.")] = None,
    print_config: Annotated[bool, typer.Option("--print-config", help="Print the effective settings and end.")] = False,
    backend: Annotated[
        str, typer.Option(help="auto (the graph's engine where it fits), onnxruntime or tensorrt.")
    ] = "auto",
    provider: Annotated[str, typer.Option(help="Where ONNX Runtime runs the model: cpu, cuda, tensorrt, ...")] = "cpu",
    allow_cpu: Annotated[
        bool, typer.Option("--allow-cpu-fallback", help="Run on the CPU where the provider is not there.")
    ] = False,
    threads: Annotated[int | None, typer.Option(help="Threads that the model may use; default: one a core.")] = None,
    allow_mismatch: Annotated[
        bool, typer.Option("--allow-model-mismatch", help="Use the threshold of another model's season; recorded.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no result lines.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Count the fruit of one row or several, into a folder that outlives a cut.

    Frames become a panorama, the panorama tiles, their detections fruit. Where a run was cut, the same command goes on
    with it; the counts are those of a run that nobody cut. A finished run is never written again: `edgekit count` reads
    it, at any threshold.

    With --site the cameras of a trolley are counted until it is stopped (SIGTERM, Ctrl-C); everything else is in that
    file.
    """
    if site is not None:
        _refuse_beside_site(sources, out)
        from edgekit.cli.run_site import run_site

        run_site(site)
        return
    from edgekit.cli.rows_by_markers import rows_by_markers
    from edgekit.cli.threshold import ThresholdRequest, begun_plan, profile_folder, resolve_threshold
    from edgekit.cli.ui import progress, warn
    from edgekit.runtime.installed.named import named_model, named_profile
    from edgekit.runtime.job import Job
    from edgekit.runtime.models import opened_models
    from edgekit.runtime.pipeline import run_job
    from edgekit.runtime.row_source import panorama_doubts, plan_sources
    from edgekit.segment import SegmenterSettings
    from edgekit.store import RunFolder

    settings = _settings(config, fps, sources).seen_by(camera=camera, encoder=encoder)
    if print_config:
        _print_config(settings)
        return
    if not sources or out is None:
        raise typer.BadParameter("name the rows and the folder: edgekit run row12.mp4 --out runs/row12")
    RunFolder(out).check_free()  # before anything is said of a run that goes on
    if markers:
        sources, settings = rows_by_markers(sources, settings, out, quiet=quiet)
    plans = plan_sources(sources, panorama=panorama)
    warn(panorama_doubts(sources) if panorama else ())
    path = named_model(model)
    engine = SegmenterSettings(provider=provider, threads=threads, allow_cpu_fallback=allow_cpu, backend=backend)
    with opened_models(path, engine) as models, progress(quiet=quiet) as report:
        seasons = named_profile(season), allow_mismatch, profile_folder(profiles)
        chosen = resolve_threshold(ThresholdRequest(threshold, *seasons, begun_plan(out)), models[0].info)
        warn(chosen.warnings)
        settings = settings.with_tile_size(models[0].info.tile_size_px)
        job = Job(plans, path.name, settings, chosen.value, chosen.origin, chosen.season)
        summary = run_job(job, out, models, progress=report)
    _tell(summary, out, quiet=quiet, as_json=as_json)


def _tell(summary: Summary, out: Path, *, quiet: bool, as_json: bool) -> None:
    """What was counted, as it was asked for; what a person should know of the rows in any case."""
    from edgekit.cli.report import print_remarks, print_summary
    from edgekit.cli.ui import print_json

    if as_json:
        print_json(summary)
    elif not quiet:
        print_summary(summary, out)
    print_remarks(summary["rows"])


def _refuse_beside_site(sources: list[Path] | None, out: Path | None) -> None:
    if sources or out is not None:
        raise typer.BadParameter("with --site the rows come from the cameras, and the site file names the folder")


def _settings(config: Path | None, fps: float | None, sources: list[Path] | None) -> RunSettings:
    from edgekit.runtime.row_view import with_rate
    from edgekit.runtime.settings import RunSettings
    from edgekit.settings_file import read_settings

    settings = RunSettings() if config is None else read_settings(config, RunSettings)
    return with_rate(settings, fps, sources or [])


def _print_config(settings: RunSettings) -> None:
    import tomli_w

    typer.echo(tomli_w.dumps(settings.nested()), nl=False)
