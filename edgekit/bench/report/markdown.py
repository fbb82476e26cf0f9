"""The report as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edgekit.bench.advice import advise
from edgekit.bench.report.tables import SECTION_TABLES, overview
from edgekit.wording import counted

Json = Mapping[str, Any]


def markdown_report(document: Json) -> str:
    """The whole report."""
    models, advice = document["models"], advise(document["models"])
    lines = ["# Bench", "", f"**{advice.heading}**", ""]
    lines += [f"- {reason}" for reason in advice.reasons]
    lines += ["", *markdown_table(overview(models)), ""]
    for model in models:
        lines += [f"## {model['name']}", ""]
        for section, title, table in SECTION_TABLES:
            if model.get(section):
                lines += [f"### {title}", "", *markdown_table(table(model)), ""]
        lines += [f"- {remark}" for remark in remarks(model)]
    environment = document["environment"]
    lines += ["", f"{environment['processor']}, {counted(environment['cores'], 'core')}, {environment['system']}; "
              f"{document['created']}", ""]  # fmt: skip
    return "\n".join(lines)


def markdown_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as a Markdown table; the first is the head."""
    head, *body = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *body)]


def remarks(model: Json) -> list[str]:
    """What a reader should know before trusting the figures."""
    said = list((model.get("accuracy") or {}).get("remarks", []))
    stability = (model.get("latency") or {}).get("stability")
    if stability and not stability["stable"]:
        said += [f"latency is not steady: {reason}" for reason in stability["reasons"]]
    if (model.get("info") or {}).get("untrained"):
        said.append("the weights are random: only the cost means something")
    provider = model.get("provider") or {}
    if provider and provider.get("requested") != provider.get("effective"):
        said.append(f"ran on {provider['effective']} instead of {provider['requested']}: {provider['reason']}")
    return said
