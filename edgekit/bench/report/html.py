"""The report as one web page that needs nothing else: no network, no script, no other file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from edgekit.bench.advice import advise
from edgekit.bench.report.drawings import COLOURS_RGB, draw_worst
from edgekit.bench.report.markdown import remarks
from edgekit.bench.report.plots import all_plots
from edgekit.bench.report.tables import SECTION_TABLES, overview
from edgekit.bench.run import ModelRun
from edgekit.wording import counted

Json = Mapping[str, Any]
STYLE = """
:root{color-scheme:light dark;--ink:#1d2320;--paper:#fbfaf6;--soft:#6b736e;--line:#d9d8d0;--card:#fff;--good:#2f6f4f}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8e4;--paper:#171a18;--soft:#9aa39d;--line:#343a36;--card:#f4f3ee}}
*{box-sizing:border-box}body{margin:0 auto;max-width:1180px;padding:24px;font:15px/1.5 system-ui,sans-serif;
color:var(--ink);background:var(--paper)}h1{font-size:20px;font-weight:600;margin:0}h2{margin:40px 0 8px;font-size:20px}
h3{margin:20px 0 6px;font-size:15px}.soft{color:var(--soft);font-size:13px}.advice{border-left:5px solid var(--good);
padding:4px 18px;margin:18px 0}.advice strong{font-size:26px;line-height:1.3}.advice ul{margin:6px 0;padding-left:20px}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:13px;width:100%}.wide{overflow-x:auto}
th,td{text-align:left;padding:5px 10px 5px 0;border-bottom:1px solid var(--line);vertical-align:top}
th{font-weight:600;color:var(--soft)}tr.chosen td{font-weight:650}.plots{display:grid;gap:18px;
grid-template-columns:repeat(auto-fill,minmax(min(100%,340px),1fr))}
figure{margin:0;background:var(--card);color:#1d2320;
border:1px solid var(--line);border-radius:8px;padding:12px}figure svg,figure img{width:100%;height:auto;display:block}
figcaption{font-size:13px}figcaption b{display:block}details{border-top:1px solid var(--line);padding:8px 0}
summary{cursor:pointer;font-weight:600}.key span{display:inline-block;margin-right:14px}.overview td{white-space:nowrap}
.overview :is(td,th):first-child{position:sticky;left:0;background:var(--paper);max-width:14em;white-space:normal;
overflow-wrap:anywhere;min-width:9em}.key i{display:inline-block;
width:11px;height:11px;border-radius:3px;margin-right:5px}.warn{color:#b3541e}
"""
EXPLAINED = (
    "Fruit found and false alarms are counted at the threshold of the highest mask F1, a fruit being found at mask IoU "
    "0.5. AJI is the share of fruit pixels that are right. R tells how well confidence foretells the quality of an "
    "outline. In brackets: 95 % intervals over pictures. A dash: not measured, or the device does not give it."
)
KEY = {
    "missed": "missed fruit",
    "false_alarms": "false alarm",
    "poor_outlines": "found, poor outline (IoU < 0.7)",
    "found": "found",
}


def html_report(document: Json, runs: Sequence[ModelRun] = (), images: Path | None = None) -> str:
    """The whole page.

    Args:
        document: the report.
        runs: what the worst pictures are drawn from, in the order of the models; without them they are left out.
        images: folder of the pictures.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        LabelsError: a picture cannot be read.
    """
    models = document["models"]
    drawn = [(run, draw) for run in runs if (draw := _worst(run, images))]
    parts = [
        _first_screen(document), "<h2>Figures</h2><div class=plots>", *_plots(models), "</div>",
        *(f"<h2>Where {escape(run.section['name'])} does worst</h2>{draw}" for run, draw in drawn),
        "<h2>Everything that was measured</h2>", *(_details(model) for model in models), _labels(document),
    ]  # fmt: skip
    title = f"Bench: {', '.join(model['name'] for model in models)}"
    head = f"<meta charset=utf-8><meta name=viewport content='width=device-width'><title>{escape(title)}</title>"
    return f"<!doctype html><html lang=en><head>{head}<style>{STYLE}</style></head><body>{''.join(parts)}</body></html>"


def _first_screen(document: Json) -> str:
    models, advice = document["models"], advise(document["models"])
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in advice.reasons)
    warnings = [(model["name"], text) for model in models for text in remarks(model)]
    warned = "".join(f"<li><b>{escape(name)}</b>: {escape(text)}</li>" for name, text in warnings)
    environment = document["environment"]
    place = f"{environment['board'] or environment['processor']} ({counted(environment['cores'], 'core')})"
    data = next((model["accuracy"]["data"] for model in models if model.get("accuracy")), None)
    judged = f" Judged on {counted(data['pictures'], 'picture')} with {data['labels']} labelled fruit." if data else ""
    title = "Which model to deploy" if advice.scored is None else "How good these results are"
    name = advice.scored or advice.model or "Undecided"
    return (
        f"<h1>{title}</h1>"
        f"<p class=soft>Measured on {escape(place)}, {escape(_moment(document['created']))}.{judged}</p>"
        f"<div class=advice><strong>{escape(name)}</strong><ul>{reasons}</ul></div>"
        f"<div class='wide overview'>{_table(overview(models), chosen=advice.model)}</div>"
        f"<p class=soft>{EXPLAINED}</p>"
        f"<ul class='soft warn'>{warned}</ul>"
    )


def _moment(created: str) -> str:
    """A time stamp of a report (ISO 8601, UTC) as a person reads it."""
    return f"{created[:10]} {created[11:16]} UTC"


def _plots(models: Sequence[Json]) -> list[str]:
    return [
        f"<figure>{svg}<figcaption><b>{escape(title)}</b>{escape(text)}</figcaption></figure>"
        for title, text, svg in all_plots(models)
    ]


def _worst(run: ModelRun, images: Path | None) -> str:
    worst = (run.section.get("accuracy") or {}).get("worst") or []
    if images is None or run.truth is None or run.predictions is None or not worst:
        return ""
    key = "".join(
        f"<span><i style='background:rgb{COLOURS_RGB[kind]}'></i>{escape(text)}</span>" for kind, text in KEY.items()
    )
    figures = []
    for entry in worst:
        counts = ", ".join(f"{len(entry[kind])} {text}" for kind, text in (
            ("missed", "missed"), ("false_alarms", "false"), ("poor_outlines", "poor"), ("found", "found"),
        ))  # fmt: skip
        picture = draw_worst(entry, images, run.truth, run.predictions)
        figures.append(f"<figure><img src='{picture}' alt='{escape(entry['picture'])}'><figcaption>"
                       f"<b>{escape(entry['picture'])}</b>{counts}</figcaption></figure>")  # fmt: skip
    return f"<p class='soft key'>{key}</p><div class=plots>{''.join(figures)}</div>"


def _details(model: Json) -> str:
    parts = [f"<h3>{escape(model['name'])}</h3>"]
    for section, title, table in SECTION_TABLES:
        if model.get(section):
            parts.append(f"<details><summary>{title}</summary><div class=wide>{_table(table(model))}</div></details>")
    return "".join(parts)


def _labels(document: Json) -> str:
    odd = (document.get("labels") or {}).get("odd") or []
    if not odd:
        return ""
    rows = [["annotation", "picture", "what became of it", "why"]]
    rows += [[item["annotation_id"], item["picture"] or "-", item["action"], item["reason"]] for item in odd]
    summary = f"<summary>{counted(len(odd), 'odd annotation')}</summary>"
    return f"<details>{summary}<div class=wide>{_table(rows)}</div></details>"


def _table(rows: Sequence[Sequence[str]], *, chosen: str | None = None) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in rows[0])
    body = "".join(
        f"<tr{' class=chosen' if chosen is not None and row[0] == chosen else ''}>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in rows[1:]
    )  # fmt: skip
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
