"""Sizes of tensors as plain numbers."""

from __future__ import annotations

import torch


def sizes(tensor: torch.Tensor) -> tuple[int, ...]:
    """A tensor's shape as Python numbers: a trace then holds constants where it would compute sizes at run time."""
    return tuple(int(length) for length in tensor.shape)
