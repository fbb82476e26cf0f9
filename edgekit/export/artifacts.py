"""Opening anything that parity compares: a graph, an engine, or a checkpoint as its own framework runs it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgekit.contracts import Choice, ModelInfo, Segmenter, TileResult
from edgekit.errors import ModelError
from edgekit.export.builder import Eager, Weights
from edgekit.export.recipe import Recipe, find_recipe, read_recipe
from edgekit.export.registry import find_builder
from edgekit.segment import SegmenterSettings, open_segmenter

CHECKPOINT_SUFFIXES = (".pt", ".pth")


class EagerSegmenter:
    """A checkpoint in its own framework: Ultralytics' predict, torchvision's forward."""

    def __init__(self, eager: Eager, info: ModelInfo) -> None:
        self._eager = eager
        self._info = info

    @property
    def info(self) -> ModelInfo:
        """What a graph of this checkpoint would say of itself."""
        return self._info

    @property
    def provider(self) -> Choice:
        """PyTorch on the CPU."""
        return Choice("pytorch", "pytorch", "the checkpoint's own framework")

    def segment(self, tiles: npt.NDArray[np.uint8]) -> list[TileResult]:
        """Segment N tiles; see `edgekit.contracts.Segmenter`."""
        return self._eager(tiles)

    def close(self) -> None:
        """Nothing is held open."""


def is_checkpoint(path: Path) -> bool:
    """Whether a file is a checkpoint by its name."""
    return path.suffix.lower() in CHECKPOINT_SUFFIXES


def open_pair(
    reference: Path, candidate: Path, *, settings: SegmenterSettings, trust_checkpoint: bool = False
) -> tuple[Segmenter, Segmenter]:
    """Open two artifacts of one model; a checkpoint takes its settings (K, floor, sizes) from the other one.

    Raises:
        ModelError: two checkpoints, or artifacts of different classes or tile sizes.
        ContractError: a graph that breaks the contract.
        CheckpointError: weights that do not fit.
    """
    if is_checkpoint(reference) and is_checkpoint(candidate):
        raise ModelError(
            f"{reference} and {candidate} are both checkpoints",
            mend="compare a checkpoint with what was exported from it",
        )
    if is_checkpoint(candidate):
        first: Segmenter = open_segmenter(reference, settings=settings)
        return first, _open_checkpoint(candidate, first.info, trusted=trust_checkpoint)
    second: Segmenter = open_segmenter(candidate, settings=settings)
    if is_checkpoint(reference):
        return _open_checkpoint(reference, second.info, trusted=trust_checkpoint), second
    first = open_segmenter(reference, settings=settings)
    for field in ("class_names", "tile_size_px"):
        mine, other = getattr(first.info, field), getattr(second.info, field)
        if mine != other:
            raise ModelError(f"{reference.name} has {field} {mine}, {candidate.name} {other}: not one model")
    return first, second


def _open_checkpoint(path: Path, like: ModelInfo, *, trusted: bool) -> EagerSegmenter:
    """A checkpoint at the settings of a graph that was exported from it."""
    recipe = _recipe_of(like)
    built = find_builder(recipe.model)(recipe, Weights(path, trust_checkpoint=trusted), target="cpu")
    return EagerSegmenter(built.eager, built.info)


def _recipe_of(info: ModelInfo) -> Recipe:
    """The family's own recipe with the settings that a graph was exported with."""
    return replace(
        read_recipe(find_recipe(info.model)),
        classes=info.class_names,
        tile_size_px=info.tile_size_px,
        inner_size_px=info.inner_size_px,
        max_detections=info.max_detections,
        proposals=info.proposals,
        score_floor=info.score_floor,
        nms_iou=info.nms_iou,
        precision="fp32",
        batch=1,
    )
