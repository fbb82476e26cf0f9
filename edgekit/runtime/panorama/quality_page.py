"""The quality report of a row as one page: figures, warnings, and what every frame did, drawn as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from edgekit.contracts import FloatArray
from edgekit.runtime.records import FrameRecord

_PLOT_WH = (1100, 170)
_MARGIN_PX = 60
_STRIPE_COLOURS = {
    "bridged": "#cc2222", "stopped": "#1f5fbf", "reversed": "#8a3fbf", "dropped": "#000000",
}  # fmt: skip
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:0 auto;padding:24px;max-width:1180px;color:#1d2320}"
    "h1{font-size:20px;overflow-wrap:anywhere}h2{font-size:17px;margin:28px 0 8px}h3{font-size:14px;margin:14px 0 0}"
    "table{border-collapse:collapse}td,th{padding:3px 14px 3px 0;text-align:left;vertical-align:top;font-size:14px;"
    "border-bottom:1px solid #ddd}li{color:#a00}.wide{overflow-x:auto}svg{display:block}text{font:12px sans-serif}"
)


class _Series(NamedTuple):
    """One number a frame."""

    title: str
    frames: FloatArray
    values: FloatArray


def quality_page(figures: dict[str, Any], records: Sequence[FrameRecord]) -> bytes:
    """An HTML page that needs nothing else.

    Args:
        figures: what `panorama.json` says.
        records: what became of the frames, in order.
    """
    warnings = "".join(f"<li>{escape(line)}</li>" for line in figures["warnings"])
    to_do = f"<ul>{warnings}</ul>" if warnings else "<p>Nothing: no fault was found.</p>"
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in _facts(figures))
    plots = "".join(_plot(series, records) for series in _series(records))
    key = " ".join(f'<span style="color:{colour}">&#9632; {name}</span>' for name, colour in _STRIPE_COLOURS.items())
    title = escape(f"Quality of the panorama of {figures['source']}")
    page = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_STYLE}</style></head>"
        f"<body><h1>{title}</h1><h2>What to do</h2>{to_do}<h2>Figures</h2><table>{rows}</table>"
        f"<h2>Frame by frame</h2><p>Behind frames that were not placed: {key}</p>{plots}</body></html>\n"
    )
    return page.encode()


def _facts(figures: dict[str, Any]) -> list[tuple[str, str]]:
    quality = figures["quality"]
    bridged = ", ".join(f"{start} to {stop} px" for start, stop in figures["bridged"]) or "none"
    return [
        ("panorama", f"{figures['width_px']} x {figures['height_px']} px in {figures['segments']} segments"),
        ("frames", ", ".join(f"{count} {status}" for status, count in sorted(quality["statuses"].items()))),
        ("bridged stretches", bridged),
        ("scale", _number(figures["px_per_metre"], "px per metre", none="not known")),
        ("length without bridged stretches", _number(figures["length_m"], "m", none="not known without a scale")),
        ("speed", _speed(figures)),
        ("fastest", _number(quality["fastest_px"], "px a frame")),
        ("confidence (median)", _number(quality["median_confidence"], "")),
        ("vertical drift", _number(quality["drift_px"], "px from highest to lowest")),
        ("rotation of the camera", _number(quality["roll_deg"], "degrees")),
        ("residual where frames meet", _number(figures["overlap_residual_grey"], "grey levels")),
        ("brightness", _number(quality["brightness"], "of 255")),
        ("fine detail", _number(quality["fineness"], "of the contrast")),
        ("stands still in the picture", _number(quality["dirt"], "of its area", none="too few looks to tell")),
    ]


def _speed(figures: dict[str, Any]) -> str:
    pixels = f"{_number(figures['quality']['speed_px'], 'px a frame')}"
    return pixels if figures["speed_m_s"] is None else f"{pixels}, {figures['speed_m_s']:.2f} m/s"


def _number(value: float | None, unit: str, *, none: str = "-") -> str:
    return none if value is None else f"{value:.3g} {unit}".strip()


def _series(records: Sequence[FrameRecord]) -> list[_Series]:
    used = [record for record in records if record.x_px is not None]
    if len(used) < 2:
        return []
    frames = np.array([record.frame for record in used], np.float32)
    moved = np.array([(b.x_px or 0.0) - (a.x_px or 0.0) for a, b in pairwise(used)], np.float32)
    return [
        _Series("displacement (px a frame)", frames[1:], moved),
        _Series("confidence", frames, np.array([record.confidence for record in used], np.float32)),
        _Series("vertical position (px)", frames, np.array([record.y_px for record in used], np.float32)),
    ]


def _plot(series: _Series, records: Sequence[FrameRecord]) -> str:
    """Least and most of the values behind each pixel column, over stripes that show what became of the frames."""
    width, height = _PLOT_WH
    first, last = float(records[0].frame), float(max(records[-1].frame, records[0].frame + 1))
    low, high = float(series.values.min()), float(series.values.max())
    room = 0.05 * (high - low) or 1.0
    low, high = low - room, high + room
    column = ((series.frames - first) / (last - first) * (width - 1)).astype(int)
    rows = (high - series.values) / (high - low) * height
    least, most = np.full(width, np.inf), np.full(width, -np.inf)
    np.minimum.at(least, column, rows)
    np.maximum.at(most, column, rows)
    thick = float(np.clip(width / (3 * len(records)), 1.5, 4.0))  # dots of a short row are seen, a long row is a curve
    marks = "".join(
        f"M{x + _MARGIN_PX} {least[x] - thick / 2:.1f}V{most[x] + thick / 2:.1f}"
        for x in np.flatnonzero(np.isfinite(least))
    )
    return (
        f'<h3>{escape(series.title)}</h3><div class="wide">'
        f'<svg width="{width + _MARGIN_PX + 10}" height="{height + 20}">'
        f'<g transform="translate(0 2)">{_stripes(records, (first, last))}'
        f'<path d="{marks}" stroke="#222" stroke-width="{thick:.1f}" fill="none"/>'
        f'<text x="4" y="10">{high - room:.4g}</text><text x="4" y="{height}">{low + room:.4g}</text>'
        f'<text x="{_MARGIN_PX}" y="{height + 14}">frame {first:.0f}</text>'
        f'<text x="{width + _MARGIN_PX}" y="{height + 14}" text-anchor="end">{last:.0f}</text></g></svg></div>'
    )


def _stripes(records: Sequence[FrameRecord], span: tuple[float, float]) -> str:
    """A stripe behind each run of frames that were not placed; frames of the same fate side by side are one."""
    (width, height), (first, last) = _PLOT_WH, span
    drawn: list[str] = []
    start = 0
    for number in range(1, len(records) + 1):
        if number < len(records) and records[number].status == records[start].status:
            continue
        status = records[start].status
        if status != "placed":
            left, right = ((records[n].frame - first) / (last - first) * width for n in (start, number - 1))
            drawn.append(
                f'<rect x="{left + _MARGIN_PX:.1f}" y="0" width="{max(right - left, 1.5):.1f}" height="{height}"'
                f' fill="{_STRIPE_COLOURS[status]}" opacity="0.3"/>'
            )
        start = number
    return "".join(drawn)
