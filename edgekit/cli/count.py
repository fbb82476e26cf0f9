"""`edgekit count`: the count of a run at any threshold, without the model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from edgekit.store import CountRule, RunReader

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: edgekit count runs/row12 --threshold 0.6")
def count(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    threshold: Annotated[
        float | None, typer.Option(help="Confidence from which a fruit counts; default: the run's.")
    ] = None,
    coco: Annotated[Path | None, typer.Option(help="Also write the fruit at this threshold as COCO results.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Count a run again from its stored detections: the model does not run."""
    from edgekit.cli.ui import print_json
    from edgekit.runtime.results import counted_fruit, write_coco
    from edgekit.store import RunFolder, RunReader

    reader = RunReader.open(RunFolder(folder).database)
    try:
        rule = _rule(reader, threshold)
        answer = _answer(reader, rule, given=threshold is not None)
        if coco is not None:
            write_coco(coco, counted_fruit(reader, rule))
        live = all(source.kind == "live" for source in reader.run().plan.sources)  # none before its first row
    finally:
        reader.close()
    if as_json:
        print_json(answer)
    else:
        _print(answer, live=live)


def _rule(reader: RunReader, threshold: float | None) -> CountRule:
    """The run's own rule, or the threshold that was given, which then holds at all heights."""
    from edgekit.cli.threshold import check_threshold
    from edgekit.store import CountRule

    plan = reader.run().plan
    if threshold is None:
        return plan.rule
    check_threshold(threshold, plan.model["score_floor"])
    return CountRule(threshold)


def _answer(reader: RunReader, rule: CountRule, *, given: bool) -> dict[str, Any]:
    from dataclasses import asdict

    from edgekit.store.summary import count_rows, per_metre, total_fruit

    run = reader.run()
    rows = count_rows(reader, rule)
    fruit = total_fruit(rows)
    return {
        "fruit": fruit,
        "fruit_per_metre": per_metre(rows),
        "threshold": rule.threshold,
        "thresholds_by_height": [asdict(band) for band in rule.bands],
        "threshold_from": "option --threshold" if given else run.plan.threshold_from,
        "finished": run.finished,
        "rows": rows,
    }


def _print(answer: dict[str, Any], *, live: bool) -> None:
    from edgekit.cli.report import print_remarks, row_line, threshold_in_words

    for row in answer["rows"] if len(answer["rows"]) > 1 else []:
        typer.echo(row_line(row))
    rule = threshold_in_words(answer["threshold"], answer["thresholds_by_height"])
    typer.echo(f"{answer['fruit']} fruit at {rule} ({answer['threshold_from']})")
    if not answer["finished"]:
        mend = "`edgekit stop --finish` finishes it" if live else "repeat its command to finish it"
        typer.echo(f"note: the run is unfinished: {mend}", err=True)
    print_remarks(answer["rows"])
