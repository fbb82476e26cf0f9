"""`edgekit panorama`: the panorama of a row alone, without a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, cast

import typer

from edgekit.cli.group import BareGroup
from edgekit.cli.ui import ForceOption

if TYPE_CHECKING:
    from edgekit.runtime.mosaic.settings import Travel
    from edgekit.runtime.panorama.report import PanoramaSummary
    from edgekit.runtime.settings import RunSettings


class _PanoramaGroup(BareGroup):
    """`edgekit panorama SOURCE` is `edgekit panorama build SOURCE`."""

    bare_form: ClassVar[str] = "build"


app = typer.Typer(
    cls=_PanoramaGroup,
    help="Build or give out the panorama of a row alone. The bare form builds: edgekit panorama row12.mp4 --out row12",
    no_args_is_help=True,
    add_completion=False,
)


@app.command(epilog="Example: edgekit panorama build row12.mp4 --out row12")
def build(
    source: Annotated[
        Path, typer.Argument(help="A video, a folder of frames, or a camera (TOML): then Ctrl-C ends the row.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the panorama: new, or of a build that was cut.")],
    config: Annotated[
        Path | None, typer.Option(help="Settings (TOML) as for `edgekit run`; panorama and segments are used.")
    ] = None,
    travel: Annotated[
        str | None, typer.Option(help="Which way the camera travels: auto, left, right. Default: as configured.")
    ] = None,
    band: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Rows where the fruit hangs: top and bottom, shares of the height."),
    ] = None,
    kind: Annotated[str | None, typer.Option(help="Segments as png (exact) or jpg. Default: as configured.")] = None,
    camera: Annotated[
        Path | None,
        typer.Option(help="Description (TOML) of the camera that recorded it."),
    ] = None,
    fps: Annotated[
        float | None, typer.Option(help="Frames a second of folders of pictures. Default: the camera's, else 30.")
    ] = None,
    encoder: Annotated[
        Path | None,
        typer.Option(help="Encoder: CSV (time_s, position_mm or ticks); for a camera a serial port."),
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="End a camera's row after so long.")] = None,
    preview: Annotated[
        Path | None, typer.Option(help="Write a small picture of the panorama as well (.png, .jpg).")
    ] = None,
    force: ForceOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no result lines.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print panorama.json.")] = False,
) -> None:
    """Build the panorama of one row into a folder: segments, offsets.csv, panorama.json, quality.html."""
    from dataclasses import asdict

    from edgekit.cli.by_hand import ended_by_hand
    from edgekit.cli.ui import prepare_outputs, print_json, progress, tell, warn
    from edgekit.runtime.panorama.export import write_preview
    from edgekit.runtime.panorama.folder import build_panorama
    from edgekit.runtime.row_view import open_row, open_view, with_rate
    from edgekit.runtime.write_picture import picture_suffix

    settings = with_rate(_settings(config, travel=travel, band=band, kind=kind), fps, [source])
    settings = settings.seen_by(camera=camera, encoder=encoder)
    if preview is not None:
        picture_suffix(preview)
    prepare_outputs(preview, force=force)
    frames, view = open_row(source, settings, told=tell), open_view(source, settings)
    with progress(quiet=quiet) as report, ended_by_hand(frames, seconds):
        summary = build_panorama(frames, out, settings, progress=report, view=view)
    if preview is not None:
        write_preview(out, preview)
    if as_json:
        print_json(asdict(summary))
    elif not quiet:
        _tell(summary, out)
    warn(summary.warnings)


@app.command(epilog="Example: edgekit panorama export runs/row12 row12.tif")
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR|RUN", help="A folder of `panorama build`, or a run.")],
    target: Annotated[Path, typer.Argument(metavar="FILE", help=".tif, .dzi (deep zoom); --preview: .png, .jpg.")],
    row: Annotated[int, typer.Option(help="Which row of a run, counted from 0.")] = 0,
    preview: Annotated[bool, typer.Option("--preview", help="A picture of at most 4000 px width instead.")] = False,
    force: ForceOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Say as JSON what was written.")] = False,
) -> None:
    """Give out a panorama as one file."""
    from edgekit.cli.ui import prepare_outputs, print_json
    from edgekit.runtime.panorama.export import check_tree, export_panorama, find_segments, write_preview

    segments = find_segments(folder, row)
    prepare_outputs(target, force=force)
    if not force:
        check_tree(target)
    if preview:
        write_preview(segments, target)
    else:
        export_panorama(segments, target)
    if as_json:
        print_json({"path": str(target), "bytes": target.stat().st_size, "panorama": str(segments)})
    else:
        typer.echo(f"wrote {target}")


def _settings(
    config: Path | None, *, travel: str | None, band: tuple[float, float] | None, kind: str | None
) -> RunSettings:
    """The configured settings with what the command line says otherwise."""
    from dataclasses import replace

    from edgekit.runtime.settings import RunSettings
    from edgekit.settings_file import read_settings

    settings = RunSettings() if config is None else read_settings(config, RunSettings)
    panorama = settings.panorama
    if travel is not None:
        panorama = replace(panorama, travel=cast("Travel", travel))
    if band is not None:
        panorama = replace(panorama, band=band)
    segments = settings.segments if kind is None else replace(settings.segments, kind=kind)
    return replace(settings, panorama=panorama, segments=segments)


def _tell(summary: PanoramaSummary, out: Path) -> None:
    placed = ", ".join(f"{count} {status}" for status, count in sorted(summary.quality.statuses.items()))
    typer.echo(f"{summary.width_px} x {summary.height_px} px from {summary.frames} frames ({placed}) in {out}")
