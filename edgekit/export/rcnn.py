"""The R-CNN families as graphs of the contract: torchvision's model, its static twin, its reference implementation."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import nn
from torchvision.models.detection import MaskRCNN

from edgekit.contracts import CONTRACT_VERSION, ModelInfo
from edgekit.errors import SettingsError
from edgekit.export.builder import CONTRACT_OUTPUTS, BuiltGraph, Weights
from edgekit.export.checkpoint import load_checkpoint
from edgekit.export.graphs.atlas import LARGEST_SIDE_PX
from edgekit.export.graphs.fold import fold_batch_norms
from edgekit.export.graphs.swin import StaticSwinFpn
from edgekit.export.graphs.two_stage import MASK_CELLS, TwoStageGraph, TwoStageSettings
from edgekit.export.models.lively import enliven
from edgekit.export.models.loading import load_by_name
from edgekit.export.models.mask_rcnn import PROPOSALS, mask_rcnn
from edgekit.export.models.mask_rcnn_sw import SwinFpnBackbone, mask_rcnn_sw
from edgekit.export.models.ms_rcnn import ms_rcnn
from edgekit.export.rcnn_reference import reference
from edgekit.export.recipe import Recipe, Target
from edgekit.export.versions import exporter_versions
from edgekit.segment.digest import file_digest

SMALLEST_SIDE_PX = 64
"""The coarsest pyramid level has one cell there."""
REDUCED = (
    "/backbone", "/rpn_head", "/box_head", "/box_predictor", "/masks/head", "/masks/predictor", "/masks/mask_iou_head",
)  # fmt: skip
"""Convolutions and perceptrons; pooling, boxes, scores and NMS stay float32."""
LAST_LAYERS = ("/rpn_head/cls_logits", "/rpn_head/bbox_pred", "/box_predictor", "/masks/predictor/mask_fcn_logits",
               "/masks/mask_iou_head/mask_iou")  # fmt: skip
"""Not in int8: their outputs are logits, deltas and scores."""
UNKNOWN_LICENCE = "unknown"


class Family(NamedTuple):
    """What is particular to one of the three."""

    make: Callable[[Recipe], MaskRCNN]
    optional_outputs: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = (*LAST_LAYERS, "/backbone/body/conv1")
    """Scopes that lose too much in int8."""


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "mask_rcnn": Family(mask_rcnn),
        "ms_rcnn": Family(ms_rcnn, ("class_scores",)),
        "mask_rcnn_sw": Family(mask_rcnn_sw, sensitive=(*LAST_LAYERS, "/backbone/body")),
    }
)


def build(recipe: Recipe, weights: Weights, *, target: Target) -> BuiltGraph:
    """Build an R-CNN with everything around it.

    Raises:
        CheckpointError: weights of another model or class count, or a pickle that wants unknown globals.
        SettingsError: the recipe asks for what this family cannot do.
    """
    model = eager_model(recipe, weights)
    family = FAMILIES[recipe.model]
    graph = static_graph(model, recipe, target=target)
    info = ModelInfo(
        contract_version=CONTRACT_VERSION,
        model=recipe.model,
        class_names=recipe.classes,
        tile_size_px=recipe.tile_size_px,
        inner_size_px=recipe.inner_size_px,
        batch=recipe.batch,
        max_detections=recipe.max_detections,
        proposals=recipe.proposals or PROPOSALS,
        mask_frame="box",
        mask_size_px=2 * MASK_CELLS,
        score_floor=recipe.score_floor,
        nms_iou=recipe.nms_iou,
        precision="fp32",
        weights_digest=_digest(recipe, weights),
        weights_licence=weights.licence or UNKNOWN_LICENCE,
        exporter=exporter_versions("torchvision"),
        untrained=weights.path is None,
        optional_outputs=family.optional_outputs,
    )
    names = (*CONTRACT_OUTPUTS, *family.optional_outputs)
    return BuiltGraph(graph, names, info, reference(model), reduced=REDUCED, sensitive=family.sensitive)


def eager_model(recipe: Recipe, weights: Weights) -> MaskRCNN:
    """torchvision's own model with its parameters, in evaluation mode.

    Raises:
        CheckpointError: weights of another model or class count, or a pickle that wants unknown globals.
        SettingsError: the recipe asks for what this family cannot do.
    """
    _check(recipe)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(weights.untrained_seed or 0)
        model = FAMILIES[recipe.model].make(recipe)
    if weights.path is None:
        enliven(model, weights.untrained_seed or 0)
    else:
        held = load_checkpoint(weights.path, allowed={}, trusted=weights.trust_checkpoint)
        load_by_name(model, held, weights.path)
    return model.eval().requires_grad_(False)


def static_graph(model: MaskRCNN, recipe: Recipe, *, target: Target) -> nn.Module:
    """The static twin of a model; the model is left as it is."""
    backbone = copy.deepcopy(model.backbone)
    if isinstance(backbone, SwinFpnBackbone):
        backbone = StaticSwinFpn(backbone, size_px=recipe.inner_size_px, batch=recipe.batch)
    else:
        fold_batch_norms(backbone)
    settings = TwoStageSettings(target, recipe.tile_size_px, recipe.batch)
    return TwoStageGraph(model, backbone, settings).eval().requires_grad_(False)


def _check(recipe: Recipe) -> None:
    if not recipe.classes:
        raise SettingsError("an R-CNN recipe has no class names", mend="write classes into it, without background")
    if not SMALLEST_SIDE_PX <= recipe.inner_size_px <= LARGEST_SIDE_PX:
        raise SettingsError(
            f"inner_size_px = {recipe.inner_size_px}",
            mend=f"R-CNNs take sizes from {SMALLEST_SIDE_PX} to {LARGEST_SIDE_PX}",
        )
    if recipe.variant:
        raise SettingsError(f"variant = {recipe.variant!r}", mend="leave it out: R-CNNs have one size")


def _digest(recipe: Recipe, weights: Weights) -> str:
    if weights.path is not None:
        return file_digest(weights.path)
    return f"untrained-{recipe.model}-{weights.untrained_seed or 0}"
