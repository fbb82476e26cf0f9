"""State dicts of torchvision-trained models, loaded by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from edgekit.errors import CheckpointError
from edgekit.export.checkpoint import check_finite

WRAPPERS = ("model", "state_dict", "model_state_dict")
"""Keys under which training scripts put the state dict, beside the optimizer's and others (torchvision's: `model`)."""
PARALLEL_PREFIX = "module."
"""What DataParallel puts before every key."""
SHOWN = 3


def load_by_name(model: nn.Module, held: object, path: Path) -> None:
    """Put the tensors of a checkpoint into a model, all of them and by name.

    Args:
        model: changed in place.
        held: what the checkpoint holds: a state dict, or a table with one.
        path: of the checkpoint, for messages.

    Raises:
        CheckpointError: no state dict, or the first keys that are missing, unknown or of another shape; tensors that
            are not finite.
    """
    state = _state_dict(held, path)
    ours = {key: tuple(tensor.shape) for key, tensor in model.state_dict().items()}
    theirs = {key: tuple(tensor.shape) for key, tensor in state.items() if not key.endswith("num_batches_tracked")}
    missing = [key for key in ours if key not in theirs]
    unknown = [key for key in theirs if key not in ours]
    resized = [f"{key} {theirs[key]} for {ours[key]}" for key in ours if key in theirs and theirs[key] != ours[key]]
    parts = [
        f"{len(keys)} {what}: {', '.join(keys[:SHOWN])}{' ...' if len(keys) > SHOWN else ''}"
        for what, keys in (("missing", missing), ("unknown", unknown), ("of another shape", resized))
        if keys
    ]
    if parts:
        mend = "name as many classes in the recipe" if resized and not missing + unknown else "give the model's own"
        raise CheckpointError(f"{path} does not fit this model; {'; '.join(parts)}", mend=mend)
    check_finite(state, path)
    model.load_state_dict({key: state[key] for key in theirs})


def _state_dict(held: object, path: Path) -> dict[str, torch.Tensor]:
    candidate: Any = held.state_dict() if isinstance(held, nn.Module) else held
    for wrapper in WRAPPERS:
        if isinstance(candidate, Mapping) and isinstance(candidate.get(wrapper), Mapping):
            candidate = candidate[wrapper]
            break
    if not isinstance(candidate, Mapping) or not candidate:
        raise CheckpointError(
            f"{path} holds no state dict, only a {type(held).__name__}", mend="save model.state_dict()"
        )
    strange = [str(key) for key, value in candidate.items() if not isinstance(value, torch.Tensor)]
    if strange:
        raise CheckpointError(f"{path} holds no state dict: {strange[0]} is no tensor", mend="save model.state_dict()")
    return {str(key).removeprefix(PARALLEL_PREFIX): value for key, value in candidate.items()}
