"""`edgekit export`: from a recipe and weights to graphs and engines, and a look into a graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgekit.cli.ui import print_json, progress

if TYPE_CHECKING:
    from edgekit.contracts import Progress
    from edgekit.export.recipe import Recipe

app = typer.Typer(add_completion=False)

FORMATS = ("onnx", "engine", "rtx")


@app.command(epilog="Example: edgekit export yolo11 --weights best.pt --out models/")
def export(
    recipe: Annotated[
        str,
        typer.Argument(help="Recipe: a TOML file or a name such as yolo11; or a graph (.onnx) to build an engine of."),
    ] = "",
    weights: Annotated[Path | None, typer.Option(help="Checkpoint (.pt, .pth) to take the parameters from.")] = None,
    untrained: Annotated[int | None, typer.Option(help="Seed of random parameters: a graph to measure with.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the artifacts; made where it is missing.")] = Path("models"),
    format_: Annotated[str, typer.Option("--format", help="onnx, engine (TensorRT) or rtx (desktop GPU).")] = "onnx",
    precision: Annotated[str, typer.Option(help="fp32, fp16 or int8 instead of the recipe's.")] = "",
    batch: Annotated[int | None, typer.Option(help="Tiles a call instead of the recipe's.")] = None,
    target: Annotated[str, typer.Option(help="cpu or tensorrt instead of the recipe's targets.")] = "",
    images: Annotated[
        Path | None, typer.Option(help="Folder of real tiles or pictures: calibrates int8, checks fp16 and int8.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Label file (COCO, ...): a lower precision that loses mask AP on it is refused.")
    ] = None,
    licence: Annotated[str, typer.Option(help="Licence of the weights, where the file names none.")] = "",
    threshold: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Confidence at which the makers of the weights would count."),
    ] = None,
    trust_checkpoint: Annotated[
        bool, typer.Option("--trust-checkpoint", help="Unpickle any global: runs the code that the file holds.")
    ] = False,
    inspect: Annotated[Path | None, typer.Option(help="Look into this ONNX graph instead of making one.")] = None,
    print_config: Annotated[bool, typer.Option("--print-config", help="Show the effective recipe and stop.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Say what was written as JSON.")] = False,
) -> None:
    """Make an ONNX graph of the contract, or a TensorRT engine, of one of the four models."""
    if inspect is not None:
        _inspect(inspect, as_json=as_json)
        return
    if not recipe:
        raise typer.BadParameter("name a recipe (yolo11, mask_rcnn, ms_rcnn, mask_rcnn_sw) or its file")
    _check_format(format_)
    if Path(recipe).suffix == ".onnx":
        _build_finished(Path(recipe), format_, quiet=quiet, as_json=as_json)
        return
    target = target or ("" if format_ == "onnx" else "tensorrt")
    changes = {"precision": precision or None, "batch": batch, "targets": (target,) if target else None}
    effective = _read(recipe, {key: value for key, value in changes.items() if value is not None})
    if print_config:
        _print_config(effective)
        return
    if (weights is None) == (untrained is None):
        raise typer.BadParameter("give --weights FILE or --untrained SEED, one of them")
    _require_torch()
    _require_weights_and_device(weights, format_)
    from edgekit.export.builder import Weights
    from edgekit.export.export import Request, export_all
    from edgekit.export.refused import RefusedError

    source = Weights(weights, untrained, trust_checkpoint=trust_checkpoint, licence=licence or None)
    request = Request(effective, source, out, images=images, labels=labels, threshold=threshold)
    with progress(quiet=quiet) as report:
        try:
            artifacts = export_all(request, progress=report)
        except RefusedError as refused:
            if as_json:
                print_json({"refused": refused.what, "mend": refused.mend, **refused.figures})
            raise
        engines = [_build(artifact.path, format_, report) for artifact in artifacts if format_ != "onnx"]
    if as_json:
        print_json([*(artifact.summary() for artifact in artifacts), *engines])
    for line in [] if as_json else [*(artifact.line() for artifact in artifacts), *(item["line"] for item in engines)]:
        typer.echo(line)


def _check_format(name: str) -> None:
    if name not in FORMATS:
        raise typer.BadParameter(f"--format {name}: use one of {', '.join(FORMATS)}")


def _require_weights_and_device(weights: Path | None, format_: str) -> None:
    """What an export needs, before minutes of exporting: the weights, and for an engine the device.

    Raises:
        CheckpointError: no weights, or an empty file.
        MissingDependencyError: TensorRT, or the plugin for RTX, is not installed.
        ProviderError: there is no GPU that it can use.
    """
    if weights is not None:
        from edgekit.export.checkpoint import check_file

        check_file(weights)
    if format_ == "rtx":
        from edgekit.segment.rtx_plugin import rtx_devices

        rtx_devices()
    elif format_ == "engine":
        from edgekit.export.tensorrt_api import TensorRtApi
        from edgekit.segment.tensorrt.device import describe_device
        from edgekit.segment.tensorrt.modules import load_modules

        modules = load_modules()
        describe_device(modules.cuda, TensorRtApi(modules.trt).version)


def _build_finished(graph: Path, format_: str, *, quiet: bool, as_json: bool) -> None:
    """The engine of a graph that was exported elsewhere: on the device, where there is no torch."""
    from edgekit.segment.contract import check_file

    if format_ == "onnx":
        raise typer.BadParameter(f"{graph} is a graph already: name --format engine or rtx, or a recipe")
    check_file(graph)
    with progress(quiet=quiet) as report:
        built = _build(graph, format_, report)
    if as_json:
        print_json([built])
    else:
        typer.echo(built["line"])


def _build(graph: Path, format_: str, report: Progress) -> dict[str, Any]:
    """An engine of a graph."""
    if format_ == "rtx":
        from edgekit.export.rtx import compile_for_rtx

        path = compile_for_rtx(graph)
        return {"path": str(path), "line": f"{path}  compiled for TensorRT for RTX"}
    from dataclasses import asdict

    from edgekit.export.smoke import smoke_test
    from edgekit.export.tensorrt_api import TensorRtApi
    from edgekit.export.tensorrt_build import build_engine
    from edgekit.segment.tensorrt.device import describe_device
    from edgekit.segment.tensorrt.modules import load_modules

    modules = load_modules()
    api = TensorRtApi(modules.trt)
    device = describe_device(modules.cuda, api.version)
    built = build_engine(graph, api=api, device=device, progress=report, smoke=lambda engine: smoke_test(graph, engine))
    word = "used again" if built.reused else "built"
    line = f"{built.path}  {built.sidecar.precision}  {word} for {built.sidecar.device.gpu_name}"
    return {"path": str(built.path), "reused": built.reused, "sidecar": asdict(built.sidecar), "line": line}


def _read(name: str, changes: dict[str, Any]) -> Recipe:
    """The recipe with what the command line changes."""
    import dataclasses

    from edgekit.export.recipe import find_recipe, read_recipe

    return dataclasses.replace(read_recipe(find_recipe(name)), **changes)


def _print_config(recipe: Recipe) -> None:
    """The effective settings, as TOML."""
    import dataclasses
    import json

    for item in dataclasses.fields(recipe):
        value = getattr(recipe, item.name)
        if value is not None:
            typer.echo(f"{item.name} = {json.dumps(value, ensure_ascii=False)}")


def _inspect(path: Path, *, as_json: bool) -> None:
    from edgekit.export.inspect import describe, inspect_graph

    report = inspect_graph(path)
    if as_json:
        print_json(report.summary())
    else:
        typer.echo(describe(report))


def _require_torch() -> None:
    """One line where the extra is missing, before anything slow begins.

    Raises:
        MissingDependencyError: torch, onnx or ultralytics is not installed.
    """
    from importlib.util import find_spec

    from edgekit.errors import MissingDependencyError

    missing = [name for name in ("torch", "torchvision", "onnx", "ultralytics") if find_spec(name) is None]
    if missing:
        raise MissingDependencyError(f"export needs {', '.join(missing)}", mend="pip install 'edgekit[export]'")
