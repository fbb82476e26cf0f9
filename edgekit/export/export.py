"""From a recipe and weights to the artifacts. `_make` is the recipe: build, trace, reduce, judge, write."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from edgekit.atomic import storage_error
from edgekit.contracts import ModelInfo, Progress
from edgekit.errors import ExportError, SettingsError
from edgekit.export.builder import BuiltGraph, Weights
from edgekit.export.held_tiles import MOST_CALIBRATING, MOST_HELD, judge, split
from edgekit.export.label_check import LabelReport, judge_on_labels, pictures_beside
from edgekit.export.onnx_writer import annotate, trace, write
from edgekit.export.parity import DEFAULT_THRESHOLD, LIMITS, ParityReport
from edgekit.export.pictures import Tiles, read_tiles
from edgekit.export.precision import ReducedGraph, Scopes
from edgekit.export.recipe import Recipe, Target
from edgekit.export.refused import RefusedError
from edgekit.export.registry import find_builder
from edgekit.labels import read_labels

ACCURACY_UNCHECKED = "accuracy was not checked: --labels FILE compares its mask AP with that of fp32"
FEWEST_PICTURE_TILES = 12
KEPT_KEY = "edgekit.higher_precision"
"""Metadata that lists the nodes which stayed in higher precision; no field of the contract, so readers leave it."""


@dataclass(frozen=True)
class Request:
    """What a person asks of one export."""

    recipe: Recipe
    weights: Weights
    out: Path
    """Folder of the artifacts."""
    images: Path | None = None
    """Folder of real pictures; needed below fp32."""
    labels: Path | None = None
    """Label file: below fp32 the mask AP on its pictures is compared as well."""
    threshold: float | None = None
    """Confidence at which the makers of the weights would count."""


@dataclass(frozen=True)
class Artifact:
    """A file that an export wrote."""

    path: Path
    target: Target
    info: ModelInfo
    bytes: int
    kept: tuple[str, ...] = ()
    """Nodes that stayed in higher precision than the artifact's name says."""
    parity: ParityReport | None = None
    """Comparison with float32; None for float32 itself."""
    labelled: LabelReport | None = None
    """Mask AP beside that of float32, where labels were given."""
    skipped: tuple[str, ...] = ()
    """Pictures that could not be read."""

    def summary(self) -> dict[str, Any]:
        """Everything as plain values for JSON."""
        return {
            "path": str(self.path),
            "target": self.target,
            "bytes": self.bytes,
            "model_id": self.info.model_id,
            "info": asdict(self.info),
            "higher_precision": list(self.kept),
            "parity": self.parity.summary() if self.parity else None,
            "labelled": self.labelled.summary() if self.labelled else None,
            "skipped_pictures": list(self.skipped),
        }

    def line(self) -> str:
        """What a person wants to know: a line, and one more where nothing was checked on labels."""
        text = f"{self.path}  {self.info.precision}  {self.bytes / 1e6:.1f} MB  batch {self.info.batch}"
        if self.info.untrained:
            text += "  UNTRAINED: to measure with, not to count with"
        if self.parity is not None:
            text += f"  against fp32: {self.parity.line(LIMITS[self.info.precision])}"
        if self.labelled is not None:
            text += f", mask AP {self.labelled.candidate.ap50_95:.4f} for {self.labelled.reference.ap50_95:.4f}"
        if self.skipped:
            text += f"  ({len(self.skipped)} pictures skipped)"
        if self.parity is not None and self.labelled is None:
            text += f"\n  {ACCURACY_UNCHECKED}"
        return text


@dataclass(frozen=True)
class Verdict:
    """Figures of a graph that passed; all None for float32, which is compared with nothing."""

    parity: ParityReport | None = None
    labelled: LabelReport | None = None


def export_all(request: Request, *, progress: Progress) -> list[Artifact]:
    """Write one graph a target of the recipe.

    Raises:
        CheckpointError: weights that do not fit.
        SettingsError: a recipe that cannot be built, int8 and fp16 without pictures, or fp32 with labels.
        LabelsError: labels that cannot be read.
        SourceError: too few pictures.
        RefusedError: the reduced graph lies beyond the limits.
        ExportError: the exporter failed.
        StorageError: the disk is full, read-only or failing.
    """
    _check_labels(request)
    try:
        request.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(request.out, error) from error
    tiles = _tiles(request)
    artifacts = []
    for number, target in enumerate(request.recipe.targets):
        progress("export", number, len(request.recipe.targets))
        artifacts.append(_make(request, target, tiles, progress))
    progress("export", len(request.recipe.targets), len(request.recipe.targets))
    return artifacts


def _make(request: Request, target: Target, tiles: Tiles | None, progress: Progress) -> Artifact:
    progress(f"building the graph for {target}", 0)
    built = find_builder(request.recipe.model)(request.recipe, request.weights, target=target)
    info = replace(built.info, precision=request.recipe.precision, default_threshold=request.threshold)
    graph = trace(built)
    progress(f"building the graph for {target}", 1, 1)
    verdict = Verdict()
    kept: tuple[str, ...] = ()
    if tiles is not None:
        reduced, held = _reduce(graph, built, tiles, precision=info.precision, target=target, progress=progress)
        verdict = _compare(graph, reduced.model, info, held, request.labels, progress)
        graph, kept = reduced.model, reduced.kept
        graph.metadata_props.add(key=KEPT_KEY, value=json.dumps(kept))
    annotate(graph, info)
    path = request.out / artifact_name(request.recipe, request.weights, target)
    write(graph, path)
    skipped = tiles.skipped if tiles else ()
    return Artifact(path, target, info, path.stat().st_size, kept, verdict.parity, verdict.labelled, skipped)


def _check_labels(request: Request) -> None:
    """Labels are used last; what is wrong with them is told first."""
    if request.labels is None:
        return
    if request.recipe.precision == "fp32":
        raise SettingsError(
            "labels compare a lower precision with fp32, and this export is fp32", mend="leave --labels out"
        )
    read_labels(request.labels, images=pictures_beside(request.labels))


def _tiles(request: Request) -> Tiles | None:
    """Real tiles where the precision needs them."""
    if request.recipe.precision == "fp32":
        return None
    if request.images is None:
        raise SettingsError(
            f"{request.recipe.precision} needs real pictures to compare it with fp32", mend="give --images FOLDER"
        )
    most = MOST_HELD + (MOST_CALIBRATING if request.recipe.precision == "int8" else 0)
    return read_tiles(request.images, size_px=request.recipe.tile_size_px, limit=most, at_least=FEWEST_PICTURE_TILES)


def _reduce(
    graph: onnx.ModelProto, built: BuiltGraph, tiles: Tiles, *, precision: str, target: Target, progress: Progress
) -> tuple[ReducedGraph, npt.NDArray[np.uint8]]:
    """The reduced graph, and the tiles that had no part in it."""
    if not built.reduced:
        raise ExportError(f"{built.info.model} has no part that may be reduced", mend="export it in fp32")
    if precision == "fp16":
        from edgekit.export.fp16 import to_fp16

        return to_fp16(graph, scopes=built.reduced), tiles.tiles
    from edgekit.export.int8 import to_int8

    calibrating, held = split(tiles.tiles)
    scopes = Scopes(built.reduced, built.sensitive)
    return to_int8(graph, calibrating, scopes=scopes, target=target, progress=progress), held


def _compare(
    graph: onnx.ModelProto,
    reduced: onnx.ModelProto,
    info: ModelInfo,
    held: npt.NDArray[np.uint8],
    labels: Path | None,
    progress: Progress,
) -> Verdict:
    """Both graphs under temporary names on the tiles that were held back, and on labelled pictures if there are any."""
    with TemporaryDirectory() as folder:
        reference, candidate = Path(folder) / "fp32.onnx", Path(folder) / "reduced.onnx"
        for model, path, precision in ((graph, reference, "fp32"), (reduced, candidate, info.precision)):
            copy = onnx.ModelProto()
            copy.CopyFrom(model)
            annotate(copy, replace(info, precision=precision))  # type: ignore[arg-type]
            write(copy, path)
        parity = judge(reference, candidate, held, labelled=labels is not None, progress=progress)
        if labels is None:
            return Verdict(parity)
        threshold = info.default_threshold or DEFAULT_THRESHOLD
        try:
            return Verdict(
                parity, judge_on_labels(reference, candidate, labels, threshold=threshold, progress=progress)
            )
        except RefusedError as refused:
            refused.figures = {"parity": parity.summary(), **refused.figures}
            raise


def artifact_name(recipe: Recipe, weights: Weights, target: Target) -> str:
    """`<weights or model>[-b<batch>][-<precision>][-tensorrt].onnx`; what is usual is left out."""
    parts = [weights.path.stem if weights.path else f"{recipe.model}-untrained"]
    if recipe.batch > 1:
        parts.append(f"b{recipe.batch}")
    if recipe.precision != "fp32":
        parts.append(recipe.precision)
    if target != "cpu":
        parts.append(target)
    return "-".join(parts) + ".onnx"
