"""The report as a PNG and as one self-contained HTML file."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edgekit.atomic import prepare_file, write_atomic
from edgekit.calibration.count_effect import CountEffect, count_curve
from edgekit.calibration.pairs import Pairs
from edgekit.calibration.report.lead import COUNT_PANEL, PANELS, SPREAD_PANEL, headline, lead_lines
from edgekit.calibration.report.panels import (
    draw_counts,
    draw_influence,
    draw_reliability,
    draw_sigma,
    draw_spread,
)
from edgekit.calibration.results import ThresholdFit
from edgekit.calibration.words import fit_lines
from edgekit.errors import MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}"
    ".wide{overflow-x:auto}img{width:100%;min-width:820px}pre{background:#f5f5f2;padding:1em;overflow-x:auto}"
    "table{border-collapse:collapse}td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}"
    "td:first-child,th:first-child{text-align:left}h1{font-size:1.3em;color:#666;font-weight:600}"
    ".lead{border-left:5px solid #b2182b;padding:.2em 1.2em;margin:1em 0}.lead strong{font-size:1.6em}"
    ".captions{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,22em),1fr));gap:.6em 2em;"
    "font-size:.92em;color:#444}"
)
CURVE = np.round(np.arange(0.05, 0.995, 0.01), 2)


@dataclass(frozen=True, eq=False)
class ReportContent:
    """What a report is made of."""

    title: str
    pairs: Pairs
    fits: tuple[ThresholdFit, ...]
    """One for each IoU target; the first is drawn."""
    lines: tuple[str, ...] = ()
    """Further findings in words: counts, bands, labels that are needed, labels that were skipped."""
    run: Path | None = None
    counts: CountEffect | None = None
    """Of the run, at the first fit's threshold."""
    sigma_wanted: float | None = None


def write_report(content: ReportContent, path: Path) -> tuple[Path, Path]:
    """Write `path` (HTML; the ending is added where it has none) and its picture beside it (PNG); return both paths.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        StorageError: a file cannot be written.
    """
    page, beside = report_files(path)
    picture = _png(content)
    prepare_file(page)
    write_atomic(beside, picture)
    write_atomic(page, "\n".join(_html(content, picture)).encode())
    return page, beside


def report_files(path: Path | None) -> tuple[Path, ...]:
    """The page and the picture of a report that was asked for at a path; nothing where none was."""
    if path is None:
        return ()
    named = path.suffix.lower() in (".html", ".htm") or path.is_dir()  # a folder is told as one, by whoever writes
    page = path if named else path.with_name(path.name + ".html")
    return page, page.with_suffix(".png")


def _png(content: ReportContent) -> bytes:
    figure = _figure()
    (reliability, sigma), (influence, counts) = figure.subplots(2, 2)
    fit = content.fits[0]
    draw_reliability(reliability, content.pairs, fit)
    draw_sigma(sigma, fit, content.sigma_wanted)
    draw_influence(influence, fit)
    if content.run is None:
        draw_spread(counts, content.pairs, fit)
    else:
        draw_counts(counts, fit, CURVE, count_curve(content.run, CURVE.tolist()))
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    return buffer.getvalue()


def _figure() -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        mend = "pip install matplotlib, or leave the report out"
        raise MissingDependencyError("the report needs matplotlib, which is not installed", mend=mend) from error
    return Figure(figsize=(13, 9), layout="constrained")


def _html(content: ReportContent, picture: bytes) -> Iterator[str]:
    yield "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
    yield f"<title>{escape(content.title)}</title>"
    yield f"<style>{STYLE}</style><h1>{escape(content.title)}</h1>"
    lines = "".join(f"<li>{escape(line)}" for line in lead_lines(content.fits[0], content.counts))
    yield f"<div class=lead><strong>{escape(headline(content.fits[0]))}</strong><ul>{lines}</ul></div>"
    encoded = base64.b64encode(picture).decode()
    yield f'<div class=wide><img alt="reliability diagram" src="data:image/png;base64,{encoded}"></div>'
    panels = (*PANELS, SPREAD_PANEL if content.run is None else COUNT_PANEL)
    captions = "".join(f"<div><b>{escape(title)}.</b> {escape(text)}</div>" for title, text in panels)
    yield f"<div class=captions>{captions}</div>"
    for fit in content.fits:
        yield f"<h2>IoU {fit.iou_target:g}</h2><pre>{escape(chr(10).join(fit_lines(fit)))}</pre>"
    if content.lines:
        yield "<h2>Findings</h2><ul>" + "".join(f"<li>{escape(line)}" for line in content.lines) + "</ul>"
    head = "<tr><th>tile<th>pairs<th>threshold without it<th>it moves it by<th>confident, no label"
    yield f"<h2>Tiles</h2><div class=wide><table>{head}"
    for row in content.fits[0].influence:
        yield (
            f"<tr><td>{escape(row.tile)}<td>{row.pairs}<td>{row.threshold_without:.4f}<td>{row.shift:+.4f}"
            f"<td>{row.suspects}"
        )
    yield f"</table></div><p>Rule: {escape(content.fits[0].rule)}.</p></html>"
