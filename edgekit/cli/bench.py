"""`edgekit bench`: what a model costs and how good it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgekit.cli.group import BareGroup
from edgekit.cli.ui import ForceOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgekit.bench.compare import Difference
    from edgekit.bench.run import BenchData, ModelRun
    from edgekit.labels import LabelSet

app = typer.Typer(
    cls=BareGroup, add_completion=False,
    help="Measure what a model costs and how good it is. The bare form is `bench run`: `edgekit bench run --help` has"
    " its options (--only, --seconds, --threads, --backend, --report, ...).",
    epilog="Example: edgekit bench M.onnx --only model,latency --seconds 5 --no-pipeline --report bench.html",
)  # fmt: skip

PAGES, MARKDOWN = (".html", ".htm"), (".md", ".markdown")
"""Endings of a report."""
LEAST_WIDTH = 24
"""Letters of a table's first column before it is folded."""
SHOWN_ODD = 5
"""Odd annotations that are named on the terminal."""

Labels = Annotated[Path | None, typer.Option("--data", help="Labels: COCO, LabelMe, CVAT, VIA, or a YOLO folder.")]
Images = Annotated[Path | None, typer.Option(help="Folder of the pictures; default: images/ beside the labels.")]
ClassMap = Annotated[
    str, typer.Option("--class-map", help="label=model,...; '*=*' maps all to the only class of a model.")
]
Ignore = Annotated[str, typer.Option("--ignore-classes", help="Label classes that are ignored regions, by commas.")]
Masks = Annotated[Path | None, typer.Option("--ignore-masks", help="Folder of masks: what is not black is ignored.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Report as JSON.")]
Report = Annotated[Path | None, typer.Option(help="Report as one web page (.html) or as Markdown (.md).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no tables; warnings and files alone.")]


@app.command(epilog="Example: edgekit bench a.onnx b.onnx --data instances.json --report bench.html")
def run(
    models: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[MODEL]...", help="Graphs, engines or folders of them; default: the fruit model."),
    ] = None,
    data: Labels = None,
    images: Images = None,
    class_map: ClassMap = "",
    ignore_classes: Ignore = "",
    ignore_masks: Masks = None,
    only: Annotated[str, typer.Option(help="Sections, by commas: model, latency, device, accuracy.")] = "",
    backend: Annotated[str, typer.Option("--backend", "--provider", help="cpu, cuda, tensorrt, ...")] = "cpu",
    threads: Annotated[int | None, typer.Option(help="Threads of the model; default: one a core.")] = None,
    batch: Annotated[
        int | None, typer.Option(min=1, help="Take the artifacts that were exported with this batch.")
    ] = None,
    calls: Annotated[
        str, typer.Option("--tiles-a-call", help="At which throughput is told as well, by commas.")
    ] = "1,4",
    seconds: Annotated[
        float,
        typer.Option(
            help="Seconds of timed calls, on until there are 30 or 120 s are over. Warm-up: a third; each of"
            " --tiles-a-call: a fifth, one call at least. The demo row comes on top (--no-pipeline)."
        ),
    ] = 10.0,
    speed: Annotated[
        float,
        typer.Option(help="Planned speed of the trolley, m/s: models that cannot keep up with it are not chosen."),
    ] = 0.25,
    px_per_metre: Annotated[float, typer.Option(help="Scale of the panorama.")] = 1280.0,
    cameras: Annotated[int, typer.Option(help="Cameras on the trolley.")] = 2,
    threshold: Annotated[float | None, typer.Option(help="Where counts are read; default: the highest F1.")] = None,
    no_pipeline: Annotated[bool, typer.Option("--no-pipeline", help="Do not time the stages of a whole run.")] = False,
    out: Out = None,
    report: Report = None,
    force: ForceOption = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Bench one model or several: MACs, latency, device and, with --data, accuracy, in one report."""
    from edgekit.bench.accuracy.evaluate import AccuracySettings
    from edgekit.bench.artifacts import choose_artifacts
    from edgekit.bench.latency.measure import MeasureSettings
    from edgekit.bench.latency.trolley import TrolleySettings
    from edgekit.bench.run import bench_models
    from edgekit.bench.settings import SECTIONS, BenchSettings
    from edgekit.cli.ui import progress
    from edgekit.errors import SettingsError
    from edgekit.runtime.default_model import default_model_path
    from edgekit.segment import SegmenterSettings

    settings = BenchSettings(
        tuple(_listed(only)) or SECTIONS,
        tuple(_whole(text) for text in _listed(calls)),
        not no_pipeline,
        MeasureSettings(seconds / 3, seconds, most_s=max(120.0, seconds)),
        TrolleySettings(px_per_metre=px_per_metre, cameras=cameras, speed_m_s=speed),
        AccuracySettings(threshold=threshold),
    )
    _prepare(out, report, force=force)
    if data is None and "accuracy" in _listed(only):
        raise SettingsError("accuracy needs labels", mend="give --data COCO.json --images FOLDER")
    labelled = _labelled((data, images, ignore_masks), class_map, ignore_classes)
    engine = SegmenterSettings(provider=backend, threads=threads)
    paths = choose_artifacts(models or [default_model_path()], batch)
    with progress(quiet=quiet) as told:
        document, runs = bench_models(paths, labelled, engine, settings, progress=told)
    _deliver(document, runs, labelled.images if labelled else None, (out, report, as_json, quiet))


@app.command(epilog="Example: edgekit bench score results.json --data instances.json --report score.html")
def score(
    results: Annotated[Path, typer.Argument(help="COCO results of any tool (JSON).")],
    data: Annotated[Path, typer.Option("--data", help="The labels that they were made for.")],
    images: Annotated[Path | None, typer.Option(help="Folder of the pictures; draws the worst of them.")] = None,
    ignore_classes: Ignore = "",
    ignore_masks: Masks = None,
    threshold: Annotated[float | None, typer.Option(help="Where counts are read; default: the highest F1.")] = None,
    out: Out = None,
    report: Report = None,
    force: ForceOption = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Score the results of any other tool in the same way."""
    from edgekit.bench.accuracy.evaluate import AccuracySettings
    from edgekit.bench.accuracy.results_file import read_results
    from edgekit.bench.accuracy_section import accuracy_section, labels_section
    from edgekit.bench.advice import RESULTS
    from edgekit.bench.predict import require_pictures
    from edgekit.bench.report_file import document
    from edgekit.bench.run import ModelRun
    from edgekit.labels import read_labels

    settings = AccuracySettings(threshold=threshold)
    _prepare(out, report, force=force)
    labels, ignored = _with_masks(read_labels(data, images=images), ignore_masks, ignore_classes)
    if images is not None:
        require_pictures(labels, images)
    truth, predictions, odd = read_results(results, labels, ignore_classes=ignored)
    left_out = [f"{len(odd)} of {len(odd) + len(predictions)} results were left out: {odd[0].reason}"] if odd else []
    section = accuracy_section(truth, predictions, settings, remarks=left_out)
    entry = {"kind": RESULTS, "name": results.stem, "file": results.name, "accuracy": section}
    whole = document([entry], labels_section(labels, odd))
    _deliver(whole, [ModelRun(entry, truth, predictions)], images, (out, report, as_json, quiet))


@app.command(epilog="Example: edgekit bench compare before.json after.json")
def compare(
    a: Annotated[Path, typer.Argument(help="A report of edgekit bench (JSON).")],
    b: Annotated[Path, typer.Argument(help="Another: B is judged against A.")],
    force: Annotated[bool, typer.Option("--force", help="Compare other boards, modes or data all the same.")] = False,
    as_json: AsJson = False,
) -> None:
    """Differences of two reports, model by model, with intervals and a verdict: better, worse, or no evidence.

    Models are matched by name; where each report holds one model, these two are compared, whatever they are called.
    """
    from dataclasses import asdict

    from edgekit.bench.compare import compare as compared
    from edgekit.bench.report_file import read_report
    from edgekit.cli.ui import print_json, warn

    result = compared(read_report(a), read_report(b), force=force)
    warn(result.remarks)
    if as_json:
        print_json(asdict(result))
        return
    for mismatch in result.mismatches:
        typer.echo(f"not alike: {mismatch}")
    for pair in result.pairs:
        typer.echo(f"A: {pair.a} of {a}\nB: {pair.b} of {b}")
        _print_table(_difference_rows(pair.differences))


@app.command(epilog="Example: edgekit bench table bench.json")
def table(
    reports: Annotated[list[Path], typer.Argument(help="Reports of edgekit bench (JSON).")],
    as_json: AsJson = False,
) -> None:
    """The paper's Tables 1 and 2 for these models, beside the paper's own figures."""
    from edgekit.bench.paper import TABLE_1_NOTE, table_1, table_2
    from edgekit.bench.report_file import read_report
    from edgekit.cli.ui import print_json

    models = _named_apart([(path, model) for path in reports for model in read_report(path)["models"]])
    first, second = table_1(models), table_2(models)
    if as_json:
        print_json({"table_1": first, "table_1_note": TABLE_1_NOTE, "table_2": second})
        return
    typer.echo("Table 1: accuracy, on the data at hand")
    _print_table(first)
    typer.echo(TABLE_1_NOTE)
    typer.echo("\nTable 2: cost (MACs are not FLOPs: one multiply-accumulate is two of them)")
    _print_table(second)


def _deliver(
    document: dict[str, Any],
    runs: list[ModelRun],
    images: Path | None,
    wanted: tuple[Path | None, Path | None, bool, bool],
) -> None:
    """Write and print what was asked for: JSON file, report file, JSON or tables on standard output."""
    from edgekit.atomic import write_atomic
    from edgekit.bench.advice import advise
    from edgekit.bench.report.html import html_report
    from edgekit.bench.report.markdown import markdown_report, remarks
    from edgekit.bench.report.tables import overview
    from edgekit.cli.ui import print_json, write_or_print_json

    out, report, as_json, quiet = wanted
    _tell_odd(document)
    if out is not None:
        write_or_print_json(document, out)
    if report is not None:
        markdown = report.suffix.lower() in MARKDOWN
        write_atomic(report, (markdown_report(document) if markdown else html_report(document, runs, images)).encode())
    if as_json:
        print_json(document)
    elif not quiet:
        # A figure a row: thirteen columns do not fit a terminal of 80.
        _print_table([list(row) for row in zip(*overview(document["models"]), strict=True)])
        advice = advise(document["models"])
        typer.echo(advice.heading)
        for reason in advice.reasons:
            typer.echo(f"  - {reason}")
        for model in document["models"]:
            for remark in remarks(model):
                typer.echo(f"  {model['name']}: {remark}")
        for path in filter(None, (out, report)):
            typer.echo(f"written: {path}")


def _tell_odd(document: dict[str, Any]) -> None:
    """What of labels and results was odd, on standard error and before any figure: figures rest on the rest."""
    odd = (document.get("labels") or {}).get("odd") or []
    odd = sorted(odd, key=lambda item: ("refused", "mended", "kept").index(item["action"]))
    for item in odd[:SHOWN_ODD]:
        typer.echo(f"{item['action']}: annotation {item['annotation_id']}: {item['reason']}", err=True)
    if len(odd) > SHOWN_ODD:
        typer.echo(f"{len(odd) - SHOWN_ODD} more were odd, all of them in the report", err=True)


def _prepare(out: Path | None, report: Path | None, *, force: bool) -> None:
    """Refuse reports that cannot be written or drawn before anything is measured."""
    from edgekit.cli.ui import prepare_outputs
    from edgekit.errors import SettingsError

    if report is not None and report.suffix.lower() not in (*PAGES, *MARKDOWN):
        raise SettingsError(f"--report {report}", mend=f"let it end in one of {', '.join((*PAGES, *MARKDOWN))}")
    if report is not None and report.suffix.lower() in PAGES:
        from edgekit.bench.report.plots import require_matplotlib

        require_matplotlib()
    prepare_outputs(out, report, force=force)


def _difference_rows(differences: Sequence[Difference]) -> list[list[str]]:
    rows = [["figure", "A", "B", "difference", "95 % interval", "B is"]]
    for item in differences:
        interval = f"{item.interval[0]:+.4g} to {item.interval[1]:+.4g}" if item.interval else "-"
        figures = (_short(value) for value in (item.a, item.b, item.difference))
        rows.append([item.name, *figures, interval, item.verdict])
    return rows


def _named_apart(models: list[tuple[Path, dict[str, Any]]]) -> list[dict[str, Any]]:
    """The models of several reports; where two have one name, with the report's file before it."""
    names = [model["name"] for _, model in models]
    return [
        {**model, "name": f"{path}: {model['name']}"} if names.count(model["name"]) > 1 else model
        for path, model in models
    ]


def _labelled(paths: tuple[Path | None, Path | None, Path | None], class_map: str, ignore: str) -> BenchData | None:
    """Labels, pictures and ignored regions as they were named; None without labels."""
    from edgekit.bench.run import BenchData
    from edgekit.labels import parse_class_map, read_labels

    data, images, masks = paths
    if data is None:
        return None
    folder = images or (data if data.is_dir() else data.parent / "images")
    labels, ignored = _with_masks(read_labels(data, images=folder), masks, ignore)
    return BenchData(labels, folder, parse_class_map(class_map), ignored)


def _with_masks(labels: LabelSet, masks: Path | None, ignore: str) -> tuple[LabelSet, tuple[str, ...]]:
    """Labels with the regions of mask pictures, and the names of all classes that are ignored regions."""
    from edgekit.labels import IGNORED_REGION, add_ignore_masks

    if masks is None:
        return labels, tuple(_listed(ignore))
    return add_ignore_masks(labels, masks), (*_listed(ignore), IGNORED_REGION)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _whole(text: str) -> int:
    from edgekit.errors import SettingsError

    if not text.isdecimal():
        raise SettingsError(f"--tiles-a-call {text}", mend="give whole numbers, such as 1,4")
    return int(text)


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.5g}"


def _print_table(rows: list[list[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    head, *body = rows
    drawn = Table(box=box.SIMPLE_HEAD)
    widest = max(len(row[0]) for row in rows)
    for place, name in enumerate(head):  # folded, not cut: long names are told apart by their ends
        drawn.add_column(name, overflow="fold", min_width=min(widest, LEAST_WIDTH) if place == 0 else None)
    for row in body:
        drawn.add_row(*row)
    Console().print(drawn)
