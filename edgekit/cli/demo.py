"""`edgekit demo`: the whole job on a row that comes with the package, beside the truth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from edgekit.runtime.demo import PictureCount
    from edgekit.store.summary import Summary

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: edgekit demo")
def demo(
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder to write into; default: ./edgekit-demo.")
    ] = None,
    model: Annotated[Path | None, typer.Option(help="ONNX graph; default: the fruit model that comes along.")] = None,
    threshold: Annotated[float | None, typer.Option(help="Confidence from which a fruit counts.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Slide a camera along six labelled pictures of sweet pepper, count the fruit, and compare with the labels."""
    from edgekit.cli.threshold import ThresholdRequest, resolve_threshold
    from edgekit.cli.ui import print_json, progress
    from edgekit.runtime.default_model import default_model_path
    from edgekit.runtime.demo import load_demo, write_frames
    from edgekit.runtime.job import Job
    from edgekit.runtime.models import opened_models
    from edgekit.runtime.pipeline import run_job
    from edgekit.runtime.row_source import plan_sources
    from edgekit.runtime.settings import RunSettings
    from edgekit.segment import SegmenterSettings

    path = model or default_model_path()
    folder = out or _free_folder(Path("edgekit-demo"))
    row = load_demo()
    with opened_models(path, SegmenterSettings()) as models, progress(quiet=as_json) as report:
        chosen = resolve_threshold(ThresholdRequest(threshold, None), models[0].info)
        write_frames(row, folder / "frames")
        settings = RunSettings().with_tile_size(models[0].info.tile_size_px)
        sources = plan_sources([folder / "frames"], panorama=False)
        job = Job(sources, path.name, settings, chosen.value, chosen.origin)
        summary = run_job(job, folder / "run", models, progress=report)
    counts = _counts(row, folder / "run", summary)
    if as_json:
        print_json(_as_json(counts, summary, folder))
    else:
        _print(counts, summary, folder)


def _free_folder(wanted: Path) -> Path:
    """The folder, or the first of wanted-2, wanted-3, ... that is not there: nothing is overwritten."""
    number, folder = 1, wanted
    while folder.exists():
        number += 1
        folder = wanted.with_name(f"{wanted.name}-{number}")
    return folder


def _counts(row: Any, run: Path, summary: Summary) -> list[PictureCount]:
    from edgekit.runtime.demo import compare
    from edgekit.runtime.results import counted_fruit
    from edgekit.store import RunFolder, RunReader

    reader = RunReader.open(RunFolder(run).database)
    try:
        ((_, fruit),) = counted_fruit(reader, summary["threshold"])
    finally:
        reader.close()
    return compare(row, fruit.instances)


def _groups(counts: Sequence[PictureCount]) -> list[tuple[str, list[PictureCount]]]:
    return [
        ("in training", [item for item in counts if item.picture.trained_on]),
        ("not in training", [item for item in counts if not item.picture.trained_on]),
        ("whole row", list(counts)),
    ]


def _print(counts: Sequence[PictureCount], summary: Summary, folder: Path) -> None:
    typer.echo("A camera slides along six labelled pictures of sweet pepper in a greenhouse, as a trolley would.\n")
    typer.echo(f"{'picture':<18}{'truth':>7}{'count':>7}{'found':>7}{'missed':>8}{'extra':>7}")
    for item in counts:
        seen = "in training" if item.picture.trained_on else "not in training"
        typer.echo(_line(item.picture.name.removesuffix(".jpg"), [item]) + f"   {seen}")
    typer.echo("")
    for name, group in _groups(counts):
        typer.echo(_line(name, group) + f"   {_difference(group)}")
    typer.echo("")
    elsewhere = "" if "option" in summary["threshold_from"] else ", set on other pictures"
    typer.echo(f"A fruit counts from confidence {summary['threshold']:g} on ({summary['threshold_from']}{elsewhere}).")
    typer.echo("Truth: fruit outlined by hand. Found: a counted fruit covers it (mask IoU >= 0.5).")
    typer.echo("Fruit that two neighbouring pictures cut are two, in the truth as in the count.\n")
    typer.echo(f"{summary['frames']} frames, {summary['tiles']} tiles, {summary['seconds']:.1f} s")
    typer.echo(f"  the row with its fruit outlined: {folder / 'run' / 'annotated.png'}")
    typer.echo(f"  frames of the camera:            {folder / 'frames'}")
    typer.echo(f"  tables, COCO file and database:  {folder / 'run'}")


def _sums(group: Sequence[PictureCount]) -> dict[str, int]:
    return {
        name: sum(getattr(item, name) for item in group) for name in ("labelled", "counted", "found", "missed", "extra")
    }


def _line(name: str, group: Sequence[PictureCount]) -> str:
    sums = _sums(group)
    return f"{name:<18}{sums['labelled']:>7}{sums['counted']:>7}{sums['found']:>7}{sums['missed']:>8}{sums['extra']:>7}"


def _difference(group: Sequence[PictureCount]) -> str:
    sums = _sums(group)
    return f"count {(sums['counted'] - sums['labelled']) / sums['labelled']:+.1%}" if sums["labelled"] else ""


def _as_json(counts: Sequence[PictureCount], summary: Summary, folder: Path) -> dict[str, Any]:
    pictures = [
        {"picture": item.picture.name, "trained_on": item.picture.trained_on, **_sums([item])} for item in counts
    ]
    groups = {name.replace(" ", "_"): _sums(group) for name, group in _groups(counts)}
    return {"pictures": pictures, **groups, "folder": str(folder), "summary": summary}
