"""What a model family hands to the exporter: one value, whatever the model.

A family is a function `build(recipe, weights, *, target) -> BuiltGraph`; the table of families is in `registry.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from edgekit.contracts import ModelInfo, TileResult
from edgekit.export.recipe import Recipe, Target

if TYPE_CHECKING:  # comparing two graphs works on a trolley, which has no torch
    import torch

CONTRACT_OUTPUTS = ("count", "boxes", "scores", "labels", "masks", "candidates", "flags")
"""Names of the outputs that every graph has, in the order in which `BuiltGraph.module` returns them."""

Eager = Callable[[npt.NDArray[np.uint8]], list[TileResult]]
"""uint8 tiles, N x S x S x 3, RGB -> one result a tile."""


@dataclass(frozen=True)
class Weights:
    """Where the parameters come from: a file, or a seed for a graph to measure with."""

    path: Path | None = None
    """Checkpoint; None with a seed."""
    untrained_seed: int | None = None
    """Seed of random parameters; None with a path."""
    trust_checkpoint: bool = False
    """True: unpickle the file without an allow-list, which runs whatever code it holds."""
    licence: str | None = None
    """Licence of the weights where the person who exports knows better than the file; else None."""


@dataclass(frozen=True)
class BuiltGraph:
    """A model that is ready to be traced."""

    module: torch.nn.Module
    """In evaluation mode. Takes uint8 tiles (B, S, S, 3), B = `info.batch`; returns a tuple of static tensors, one for
    each of `output_names`: count int32 (B), boxes float32 (B, K, 4), scores float32 (B, K), labels int32 (B, K), masks
    uint8 (B, K, m, m), candidates int32 (B), flags int32 (B), then those that are optional."""
    output_names: tuple[str, ...]
    """`CONTRACT_OUTPUTS`, then `info.optional_outputs`."""
    info: ModelInfo
    """What goes into the metadata; its precision is fp32 here, the precision stage changes it."""
    eager: Eager
    """The model's reference implementation (Ultralytics' predict, torchvision's forward) at the same settings."""
    reduced: tuple[str, ...] = ()
    """Prefixes of the node names (`/layers`, `/model/backbone`) that may run in fp16 or int8: the scope of the modules
    whose forward was called. Box arithmetic, softmax over classes, LayerNorm and NMS belong outside them."""
    sensitive: tuple[str, ...] = ()
    """Prefixes within `reduced` that lose too much in int8 and stay in higher precision there."""


class Builder(Protocol):
    """A model family."""

    def __call__(self, recipe: Recipe, weights: Weights, *, target: Target) -> BuiltGraph:
        """Build the model of a recipe.

        Raises:
            CheckpointError: weights of another model or class count, or a pickle that wants unknown globals.
            SettingsError: the recipe asks for what the family cannot do.
        """
        ...
