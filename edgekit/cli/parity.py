"""`edgekit parity`: do two artifacts of one model say the same of the same tiles?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgekit.cli.ui import ForceOption, prepare_outputs, progress, write_or_print_json
from edgekit.wording import counted

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from edgekit.contracts import Progress, Segmenter, TileResult

app = typer.Typer(add_completion=False)

DIFFERENT = 1


@app.command(epilog="Example: edgekit parity best.pt models/best.onnx --images tiles/")
def parity(
    reference: Annotated[Path, typer.Argument(help="Checkpoint, ONNX graph or engine that is right by definition.")],
    candidate: Annotated[Path, typer.Argument(help="What is compared with it.")],
    images: Annotated[Path, typer.Option(help="Folder of real pictures, cut into tiles.")],
    tiles: Annotated[int, typer.Option(min=1, help="Most tiles to compare.")] = 50,
    threshold: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Confidence at which the counts are compared.")
    ] = None,
    provider: Annotated[str, typer.Option(help="Execution provider of graphs: cpu, cuda, tensorrt, rtx.")] = "cpu",
    threads: Annotated[int | None, typer.Option(help="Threads of graphs on the CPU.")] = None,
    trust_checkpoint: Annotated[
        bool, typer.Option("--trust-checkpoint", help="Unpickle any global: runs the code that the file holds.")
    ] = False,
    json_file: Annotated[
        Path | None,
        typer.Option(
            "--json", metavar="FILE", help="Write the figures as JSON into FILE; `--json -` prints them alone."
        ),
    ] = None,
    force: ForceOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Compare two artifacts on sets of detections; exit code 1 beyond the limits of the candidate's precision."""
    from edgekit.export.artifacts import open_pair
    from edgekit.export.parity import DEFAULT_THRESHOLD, LIMITS, compare
    from edgekit.export.pictures import read_tiles
    from edgekit.segment import SegmenterSettings

    prepare_outputs(json_file, force=force)
    settings = SegmenterSettings(provider=provider, threads=threads)
    first, second = open_pair(reference, candidate, settings=settings, trust_checkpoint=trust_checkpoint)
    found = read_tiles(images, size_px=second.info.tile_size_px, limit=tiles, at_least=1)
    with progress(quiet=quiet) as report:
        results = [
            _segment(side, found.tiles, name, report) for side, name in ((first, "reference"), (second, "candidate"))
        ]
    at = threshold if threshold is not None else second.info.default_threshold or DEFAULT_THRESHOLD
    figures = compare(results[0], results[1], info=second.info, threshold=at)
    kind = _lower(first, second)
    faults = figures.beyond(LIMITS[kind])
    summary = {"limits": kind, "passed": not faults, "faults": faults, **figures.summary()}
    summary["skipped_pictures"] = list(found.skipped)
    if json_file is not None:
        write_or_print_json(summary, json_file)
    if json_file is None or str(json_file) != "-":
        _print(summary)
    if faults:
        raise typer.Exit(DIFFERENT)


def _segment(segmenter: Segmenter, tiles: npt.NDArray[np.uint8], name: str, report: Progress) -> list[TileResult]:
    """All tiles, a batch at a time, so that the progress moves."""
    results: list[TileResult] = []
    step = max(segmenter.info.batch, 1)
    for start in range(0, len(tiles), step):
        results += segmenter.segment(tiles[start : start + step])
        report(name, len(results), len(tiles))
    segmenter.close()
    return results


def _lower(first: Segmenter, second: Segmenter) -> str:
    """The lower precision of the two, whose limits count."""
    order = ("fp32", "fp16", "int8")
    return max((first.info.precision, second.info.precision), key=order.index)


def _print(summary: dict[str, Any]) -> None:
    for key, value in summary.items():
        if key not in ("passed", "faults", "skipped_pictures"):
            typer.echo(f"{key:24} {value}")
    if summary["skipped_pictures"]:
        typer.echo(f"{'pictures skipped':24} {len(summary['skipped_pictures'])}")
    for fault in summary["faults"]:
        typer.echo(f"beyond the limit: {fault}")
    typer.echo(_verdict(summary))


def _verdict(summary: dict[str, Any]) -> str:
    """What the figures come to, in a sentence."""
    tiles = counted(summary["tiles"], "tile")
    if summary["faults"]:
        return f"Different: on {tiles} the two lie beyond the limits of {summary['limits']} (exit code {DIFFERENT})."
    if not summary["reference"] and not summary["candidate"]:
        return f"Nothing was found by either on {tiles}: give pictures with fruit to compare them."
    return (
        f"Alike: on {tiles} both say the same within the limits of {summary['limits']},"
        f" {summary['candidate_count']} for {summary['reference_count']} objects at {summary['threshold']:g}."
    )
