"""A run's summary in a few lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from edgekit.store.summary import RowCount, Summary


def print_summary(summary: Summary, out: Path) -> None:
    """The count, what it stands on, and where the files lie."""
    for row in summary["rows"] if len(summary["rows"]) > 1 else []:
        typer.echo(row_line(row))
    per_metre = summary["fruit_per_metre"]
    scale = "" if per_metre is None else f", {per_metre:.1f} a metre"
    typer.echo(f"{summary['fruit']} fruit{scale}")
    rule = threshold_in_words(summary["threshold"], summary["thresholds_by_height"])
    typer.echo(f"  {rule} ({summary['threshold_from']})")
    size = summary["panorama"]
    frames = "" if summary["frames"] is None else f"{summary['frames']} frames, "
    typer.echo(
        f"  {frames}panorama {size['width_px']} x {size['height_px']} px, {summary['tiles']} tiles,"
        f" {summary['seconds']:.1f} s, {summary['peak_rss_mb']:.0f} MB"
    )
    from edgekit.segment.providers import AS_REQUESTED

    provider = summary["model"]["provider"]
    if provider["reason"] != AS_REQUESTED:
        typer.echo(f"  {summary['model']['file']} on {provider['effective']}: {provider['reason']}")
    typer.echo(f"  pictures, tables and database: {out}")
    if summary["drift"] is not None and not any(
        "drifted" in text for row in summary["rows"] for text in row["remarks"]
    ):
        typer.echo(f"  {summary['drift']['sentence']}")


def threshold_in_words(threshold: float, by_height: list[dict[str, float]]) -> str:
    """From which confidence on fruit count."""
    bands = [
        f"{band['threshold']:.3g} from {band['top']:.0%} to {band['bottom']:.0%} of the height" for band in by_height
    ]
    return f"confidence >= {', '.join(bands) or format(threshold, 'g')}"


def row_line(row: RowCount) -> str:
    """One row, one line."""
    counted = "not counted" if row["fruit"] is None else f"{row['fruit']} fruit"
    return f"{row['source']}: {counted}"


def print_remarks(rows: list[RowCount]) -> None:
    """What a person should know of the rows, on standard error."""
    for row in rows:
        for remark in row["remarks"]:
            typer.echo(f"warning: {row['source']}: {remark}", err=True)
