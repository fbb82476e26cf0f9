"""From a recipe and weights to the artifacts: build, trace, annotate, write."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgekit.contracts import Progress
from edgekit.export.builder import Weights
from edgekit.export.onnx_writer import annotate, trace, write
from edgekit.export.recipe import Recipe, Target
from edgekit.export.registry import find_builder


@dataclass(frozen=True)
class Artifact:
    """A file that an export wrote."""

    path: Path
    target: Target
    precision: str
    bytes: int
    model_id: str


def export(recipe: Recipe, weights: Weights, out: Path, *, progress: Progress) -> list[Artifact]:
    """Write one graph a target of the recipe.

    Raises:
        CheckpointError: weights that do not fit.
        SettingsError: a recipe that cannot be built.
        ExportError: the exporter failed.
        StorageError: the disk is full, read-only or failing.
    """
    build = find_builder(recipe.model)
    out.mkdir(parents=True, exist_ok=True)
    artifacts = []
    for number, target in enumerate(recipe.targets):
        progress("export", number, len(recipe.targets))
        built = build(recipe, weights, target=target)
        model = trace(built)
        annotate(model, built.info)
        path = out / artifact_name(recipe, weights, target)
        write(model, path)
        artifacts.append(Artifact(path, target, built.info.precision, path.stat().st_size, built.info.model_id))
    progress("export", len(recipe.targets), len(recipe.targets))
    return artifacts


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
