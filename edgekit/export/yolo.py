"""Ultralytics' segmentation models (YOLOv8, 11, 26) as graphs of the contract."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch
from torch import nn

from edgekit.contracts import CONTRACT_VERSION, ModelInfo
from edgekit.errors import CheckpointError, SettingsError
from edgekit.export.builder import CONTRACT_OUTPUTS, BuiltGraph, Weights
from edgekit.export.checkpoint import ULTRALYTICS_CLASSES, check_finite, load_checkpoint
from edgekit.export.graphs.prototypes import frame_of
from edgekit.export.graphs.yolo import YoloGraph, YoloSettings
from edgekit.export.recipe import Recipe, Target
from edgekit.export.versions import exporter_versions
from edgekit.export.yolo_reference import reference
from edgekit.segment.digest import file_digest

LICENCE = "AGPL-3.0"
"""Ultralytics' own licence, where the checkpoint names none."""
REDUCED = ("/layers", "/head")
SENSITIVE = (
    "/layers.0/", "/layers.1/",
    *(f"/head/cv{branch}.{level}/cv{branch}.{level}.2/" for branch in (2, 3, 4) for level in range(3)),
    "/head/proto/cv3/",
)  # fmt: skip
"""The stem, and the last convolutions of the head, whose outputs are logits, coefficients and prototypes. With the stem
in int8 the largest change of a score is 0.34 instead of 0.18 (`python bench/export/int8_sensitivity.py`)."""
SIZES = ("n", "s", "m", "l", "x")


def build(recipe: Recipe, weights: Weights, *, target: Target) -> BuiltGraph:
    """Build a YOLO segmentation model with everything around it.

    Raises:
        CheckpointError: weights of another model or class count, or a pickle that wants unknown globals.
        SettingsError: the recipe asks for what this family cannot do.
    """
    if recipe.mean_rgb != (0.0, 0.0, 0.0) or recipe.std_rgb != (1.0, 1.0, 1.0):
        raise SettingsError("mean_rgb and std_rgb", mend="leave them out: YOLO takes pixels scaled to 0..1")
    if recipe.proposals is not None:
        raise SettingsError(f"proposals = {recipe.proposals}", mend="leave it out: YOLO has none")
    model, licence = _untrained(recipe, weights) if weights.path is None else _trained(recipe, weights)
    names = recipe.classes or _class_names(model, weights.path)
    eager = reference(copy.deepcopy(model), recipe)
    model.fuse(verbose=False)
    graph = YoloGraph(model.model, YoloSettings.from_recipe(recipe, target)).eval().requires_grad_(False)
    info = ModelInfo(
        contract_version=CONTRACT_VERSION,
        model=recipe.model,
        class_names=names,
        tile_size_px=recipe.tile_size_px,
        inner_size_px=recipe.inner_size_px,
        batch=recipe.batch,
        max_detections=recipe.max_detections,
        proposals=None,
        mask_frame="tile",
        mask_size_px=_prototype_size(graph, recipe),
        score_floor=recipe.score_floor,
        nms_iou=recipe.nms_iou,
        precision="fp32",
        weights_digest=_digest(recipe, weights),
        weights_licence=weights.licence or licence,
        exporter=exporter_versions("ultralytics"),
        untrained=weights.path is None,
    )
    return BuiltGraph(graph, CONTRACT_OUTPUTS, info, eager, reduced=REDUCED, sensitive=SENSITIVE)


def _trained(recipe: Recipe, weights: Weights) -> tuple[Any, str]:
    """The model of a checkpoint in float32, and the licence that the checkpoint names."""
    assert weights.path is not None
    held = load_checkpoint(weights.path, allowed=ULTRALYTICS_CLASSES, trusted=weights.trust_checkpoint)
    model = held.get("ema") or held.get("model") if isinstance(held, dict) else held
    if not isinstance(model, nn.Module):
        raise CheckpointError(
            f"{weights.path} holds no model, only {_describe(held)}",
            mend="give a checkpoint that Ultralytics wrote, which holds the model itself",
        )
    head = _head(model)
    if not hasattr(head, "proto") or not hasattr(head, "cv4"):
        raise CheckpointError(
            f"{weights.path} ends in {type(head).__name__}, which draws no masks", mend="give a -seg model"
        )
    if recipe.classes and len(recipe.classes) != head.nc:
        raise CheckpointError(
            f"{weights.path} has {head.nc} classes, the recipe names {len(recipe.classes)}",
            mend="name as many classes in the recipe, or none to take those of the weights",
        )
    check_finite(model.state_dict(), weights.path)
    licence = held.get("license") if isinstance(held, dict) else None
    return model.float().eval(), str(licence or LICENCE)


def _untrained(recipe: Recipe, weights: Weights) -> tuple[Any, str]:
    """A model with random parameters."""
    from ultralytics.nn.tasks import SegmentationModel

    size = recipe.variant or "n"
    if size not in SIZES:
        raise SettingsError(f"variant = {size!r}", mend=f"use one of: {', '.join(SIZES)}")
    if not recipe.classes:
        raise SettingsError("an untrained model has no class names", mend="write classes into the recipe")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(weights.untrained_seed or 0)
        make: Any = SegmentationModel
        model = make(f"yolo11{size}-seg.yaml", nc=len(recipe.classes), verbose=False)
    model.names = dict(enumerate(recipe.classes))
    return model.float().eval(), LICENCE


def _class_names(model: nn.Module, path: Path | None) -> tuple[str, ...]:
    """One name for each class of the head, in their order."""
    held: Any = getattr(model, "names", None) or {}
    names = tuple(str(name) for _, name in sorted(held.items())) if isinstance(held, dict) else tuple(map(str, held))
    classes = int(_head(model).nc)
    if len(set(names)) != classes:
        raise CheckpointError(
            f"{path} has {classes} classes and names {', '.join(names) or 'none'}", mend="write classes into the recipe"
        )
    return names


def _head(model: nn.Module) -> Any:
    layers = getattr(model, "model", None)
    return layers[-1] if isinstance(layers, nn.Sequential) and len(layers) else model


def _prototype_size(graph: YoloGraph, recipe: Recipe) -> int:
    """Side of the prototypes as the graph makes them: models differ, so it is never derived from the tile's size."""
    tile = torch.zeros((1, recipe.tile_size_px, recipe.tile_size_px, 3), dtype=torch.uint8)
    with torch.no_grad():
        height, width = frame_of(graph.head(graph.features(graph.prepare(tile)))[-1])
    if height != width:
        raise CheckpointError(f"prototypes are {height} x {width}, the contract wants a square")
    return height


def _digest(recipe: Recipe, weights: Weights) -> str:
    if weights.path is not None:
        return file_digest(weights.path)
    return f"untrained-{recipe.model}{recipe.variant or 'n'}-{weights.untrained_seed or 0}"


def _describe(held: Any) -> str:
    if isinstance(held, dict):
        return f"a table with the keys {', '.join(list(map(str, held))[:3])} ..."
    return f"a {type(held).__name__}"
