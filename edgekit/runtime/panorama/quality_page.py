"""The quality report of a row as one page: figures, warnings, and what every frame did, drawn as SVG."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from edgekit.contracts import FloatArray
from edgekit.runtime.panorama.quality import good_values
from edgekit.runtime.records import FrameRecord
from edgekit.wording import counted

_PLOT_WH = (1100, 170)
_MARGIN_PX = 60
_MOVED_PX = 0.5
_FAR, _NAMED = 2.0, 4
"""Times the median step from which a frame is named, and how many are."""
_STRIPE_COLOURS = {
    "bridged": "#cc2222", "stopped": "#1f5fbf", "reversed": "#8a3fbf", "dropped": "#000000",
}  # fmt: skip
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:0 auto;padding:24px;max-width:1180px;color:#1d2320}"
    "h1{font-size:20px;overflow-wrap:anywhere}h2{font-size:17px;margin:28px 0 8px}h3{font-size:14px;margin:14px 0 0}"
    "table{border-collapse:collapse}td,th{padding:3px 14px 3px 0;text-align:left;vertical-align:top;font-size:14px;"
    "border-bottom:1px solid #ddd}td+td{color:#777}li{color:#a00}.good{color:#17692f}.wide{overflow-x:auto}"
    "svg{display:block;width:100%;min-width:640px}img{display:block;max-width:100%}text{font:12px sans-serif}"
)


class _Series(NamedTuple):
    """One number a frame."""

    title: str
    frames: FloatArray
    values: FloatArray


def quality_page(figures: dict[str, Any], records: Sequence[FrameRecord], picture: bytes | None = None) -> bytes:
    """An HTML page that needs nothing else.

    Args:
        figures: what `panorama.json` says.
        records: what became of the frames, in order.
        picture: the panorama as a small JPEG; None: none is shown.
    """
    warnings = "".join(f"<li>{escape(line)}</li>" for line in figures["warnings"])
    to_do = f"<ul>{warnings}</ul>" if warnings else '<p class="good">Nothing: no fault was found.</p>'
    facts = [*_facts(figures), ("largest steps", _largest_steps(records), "few, and as sure as the others")]
    rows = "".join(f"<tr><th>{escape(a)}</th><td>{escape(b)}</td><td>{escape(c)}</td></tr>" for a, b, c in facts)
    plots = "".join(_plot(series, records) for series in _series(records, figures["direction"]))
    shown = "" if picture is None else f'<h2>The panorama</h2><img alt="panorama" src="{_inline(picture)}">'
    key = " ".join(f'<span style="color:{colour}">&#9632; {name}</span>' for name, colour in _STRIPE_COLOURS.items())
    title = escape(f"Quality of the panorama of {figures['source']}")
    page = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_STYLE}</style></head>"
        f"<body><h1>{title}</h1><h2>What to do</h2>{to_do}{shown}"
        f"<h2>Figures</h2><table><tr><th></th><th></th><th>good</th></tr>{rows}</table>"
        f"<h2>Frame by frame</h2><p>A dot a frame; behind those that were not placed: {key}</p>{plots}</body></html>\n"
    )
    return page.encode()


def _inline(picture: bytes) -> str:
    return f"data:image/jpeg;base64,{b64encode(picture).decode()}"


def _facts(figures: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Name, value, and what is good, of each figure."""
    quality = figures["quality"]
    good = good_values(figures["height_px"])
    bridged = ", ".join(f"{start} to {stop} px" for start, stop in figures["bridged"]) or "none"
    size = f"{figures['width_px']} x {figures['height_px']} px in {counted(figures['segments'], 'segment')}"

    def measured(name: str, key: str, unit: str, none: str = "-") -> tuple[str, str, str]:
        value = figures[key] if key in figures else quality[key]
        return name, _number(value, unit, none=none), good.get(key, "")

    return [
        ("panorama", size, ""),
        ("frames", ", ".join(f"{count} {status}" for status, count in sorted(quality["statuses"].items())), "placed"),
        ("bridged stretches", bridged, "none"),
        measured("scale", "px_per_metre", "px per metre", "not known"),
        measured("length without bridged stretches", "length_m", "m", "not known without a scale"),
        ("speed", _speed(figures), ""),
        measured("fastest", "fastest_px", "px a frame"),
        measured("confidence (median)", "median_confidence", ""),
        measured("vertical drift", "drift_px", "px from highest to lowest"),
        measured("rotation of the camera", "roll_deg", "degrees"),
        measured("residual where frames meet", "overlap_residual_grey", "grey levels"),
        measured("brightness", "brightness", "of 255"),
        measured("fine detail", "fineness", "of the contrast"),
        measured("stands still in the picture", "dirt", "of its area", "too few looks to tell"),
    ]


def _largest_steps(records: Sequence[FrameRecord]) -> str:
    """Frames that moved far more than the others, with how sure that is."""
    used = [record for record in records if record.x_px is not None]
    steps = [(abs((b.x_px or 0.0) - (a.x_px or 0.0)), b) for a, b in pairwise(used)]
    moved = [step for step, _ in steps if step > _MOVED_PX]
    far = [item for item in steps if moved and item[0] > _FAR * float(np.median(moved))]
    far.sort(key=lambda item: (-item[0], item[1].frame))
    told = [f"frame {record.frame}: {step:.0f} px, confidence {record.confidence:.2f}" for step, record in far[:_NAMED]]
    more = [f"and {len(far) - _NAMED} more"] if len(far) > _NAMED else []
    return "; ".join([*told, *more]) or f"none above {_FAR:g} times the median"


def _speed(figures: dict[str, Any]) -> str:
    pixels = f"{_number(figures['quality']['speed_px'], 'px a frame')}"
    return pixels if figures["speed_m_s"] is None else f"{pixels}, {figures['speed_m_s']:.2f} m/s"


def _number(value: float | None, unit: str, *, none: str = "-") -> str:
    return none if value is None else f"{value:.3g} {unit}".strip()


def _series(records: Sequence[FrameRecord], direction: int) -> list[_Series]:
    """What is drawn; displacement is positive along the row, whichever way the camera sees it pass."""
    used = [record for record in records if record.x_px is not None]
    if len(used) < 2:
        return []
    frames = np.array([record.frame for record in used], np.float32)
    moved = np.array([direction * ((b.x_px or 0.0) - (a.x_px or 0.0)) for a, b in pairwise(used)], np.float32)
    return [
        _Series("displacement along the row (px a frame)", frames[1:], moved),
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
    column = np.asarray((series.frames - first) / (last - first) * (width - 1), np.float32).astype(int)
    rows = (high - series.values) / (high - low) * height
    least, most = np.full(width, np.inf), np.full(width, -np.inf)
    np.minimum.at(least, column, rows)
    np.maximum.at(most, column, rows)
    thick = float(np.clip(width / (3 * len(records)), 2.5, 4.0))  # dots of a short row are seen, a long row is a curve
    marks = "".join(
        f"M{x + _MARGIN_PX} {least[x] - thick / 2:.1f}V{most[x] + thick / 2:.1f}"
        for x in np.flatnonzero(np.isfinite(least))
    )
    return (
        f'<h3>{escape(series.title)}</h3><div class="wide">'
        f'<svg viewBox="0 0 {width + _MARGIN_PX + 10} {height + 20}">'
        f'<g transform="translate(0 2)">{_stripes(records, (first, last))}'
        f'{_curve(column + _MARGIN_PX, rows)}<path d="{marks}" stroke="#222" stroke-width="{thick:.1f}" fill="none"/>'
        f'<text x="4" y="10">{high - room:.4g}</text><text x="4" y="{height}">{low + room:.4g}</text>'
        f'<text x="{_MARGIN_PX}" y="{height + 14}">frame {first:.0f}</text>'
        f'<text x="{width + _MARGIN_PX}" y="{height + 14}" text-anchor="end">{last:.0f}</text></g></svg></div>'
    )


def _curve(columns: FloatArray, rows: FloatArray) -> str:
    """A thin line through the dots of a row that is short enough for single frames to be told apart."""
    if len(columns) > _PLOT_WH[0] // 4:
        return ""
    points = " ".join(f"{x:.0f},{y:.1f}" for x, y in zip(columns.tolist(), rows.tolist(), strict=True))
    return f'<polyline points="{points}" stroke="#9aa" stroke-width="1" fill="none"/>'


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
