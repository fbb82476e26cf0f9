"""Reading checkpoints without running what they hold.

A `.pt` is a pickle, and a pickle can call anything. So PyTorch's restricted unpickler reads it, which knows tensors and
plain containers, and beside them only the classes that are listed here.
"""

from __future__ import annotations

import pickle
import re
import zipfile
import zlib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from edgekit.errors import CheckpointError

ULTRALYTICS_CLASSES = MappingProxyType(
    {
        "ultralytics.nn.tasks": "SegmentationModel",
        "ultralytics.nn.modules.head": "Segment Segment26",
        "ultralytics.nn.modules.conv": "Conv Concat DWConv RepConv",
        "ultralytics.nn.modules.block": (
            "A2C2f AAttn ABlock ADown Attention Bottleneck C2PSA C2f C3 C3k C3k2 DFL PSABlock Proto Proto26"
            " RepBottleneck RepCSP RepNCSPELAN4 SPPELAN SPPF"
        ),
        "ultralytics.utils": "IterableSimpleNamespace",
        "torch.nn.modules.activation": "ReLU SiLU",
        "torch.nn.modules.batchnorm": "BatchNorm2d",
        "torch.nn.modules.container": "ModuleList Sequential",
        "torch.nn.modules.conv": "Conv2d ConvTranspose2d",
        "torch.nn.modules.linear": "Identity",
        "torch.nn.modules.pooling": "MaxPool2d",
        "torch.nn.modules.upsampling": "Upsample",
    }
)
"""Module -> its classes that a YOLO segmentation checkpoint (v8, v9, 11, 12, 26) is made of: layers and a namespace."""

TRUST = "if you know who made it, use --trust-checkpoint, which runs whatever code the file holds"
OTHER_RECIPE = "weights that Ultralytics wrote take the recipe yolo11, this one takes a state dict"


def load_checkpoint(path: Path, *, allowed: Mapping[str, str], trusted: bool = False) -> Any:
    """What a `.pt` or `.pth` holds, on the CPU.

    Args:
        path: the file.
        allowed: module -> names of the classes, parted by blanks, that it may hold beside tensors and containers.
        trusted: unpickle whatever it holds, which runs its code.

    Raises:
        CheckpointError: no such file, no checkpoint, cut short or damaged, or it wants a global that is not allowed.
    """
    check_file(path)
    if trusted:
        return _read(path, weights_only=False, mend="")
    _check_sums(path)
    classes = [getattr(import_module(module), name) for module, names in allowed.items() for name in names.split()]
    with torch.serialization.safe_globals(classes):
        return _read(path, weights_only=True, mend=TRUST if allowed else f"{OTHER_RECIPE}; {TRUST}")


def check_file(path: Path) -> None:
    """Raise where there are no weights to read.

    Raises:
        CheckpointError: no such file, or an empty one.
    """
    if not path.is_file():
        raise CheckpointError(f"no weights file {path}", mend="check the path")
    if not path.stat().st_size:
        raise CheckpointError(f"{path} is empty", mend="copy it again")


def check_finite(state: Mapping[str, torch.Tensor], path: Path) -> None:
    """Raise where a tensor holds what no weight can be.

    Raises:
        CheckpointError: infinite values or NaN; the first such tensor is named.
    """
    for key, tensor in state.items():
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise CheckpointError(f"{path} has values that are not finite in {key}", mend="use an earlier checkpoint")


def _check_sums(path: Path) -> None:
    """PyTorch writes a checksum of every tensor and does not look at it when it reads."""
    if not zipfile.is_zipfile(path):
        return  # the old format, or no checkpoint at all
    try:
        with zipfile.ZipFile(path) as parts:
            damaged = parts.testzip()
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, zlib.error):
        damaged = "its list of parts"
    if damaged is not None:
        mend = "copy it again; if it was written without checksums and you know who made it, use --trust-checkpoint"
        raise CheckpointError(f"{path} is damaged: the checksum of {damaged} is wrong", mend=mend)


def _read(path: Path, *, weights_only: bool, mend: str) -> Any:
    try:
        return torch.load(path, map_location="cpu", weights_only=weights_only)
    except pickle.UnpicklingError as error:
        wanted = re.search(r"(?:GLOBAL|class|function) ([\w.]+)", str(error).rpartition("WeightsUnpickler error:")[2])
        if weights_only and wanted:
            raise CheckpointError(
                f"{path} wants {wanted[1]}, which is not among the classes that weights are made of",
                mend=mend,
            ) from error
        raise CheckpointError(f"{path} is no PyTorch checkpoint", mend="copy it again") from error
    except (RuntimeError, EOFError, ValueError, KeyError, OSError) as error:
        reason = str(error).strip().partition(". ")[0].partition("\n")[0]
        told = f": {reason}" if " " in reason else ""
        raise CheckpointError(f"{path} is damaged or no PyTorch checkpoint{told}", mend="copy it again") from error
    except (ModuleNotFoundError, AttributeError) as error:
        raise CheckpointError(f"{path} wants code that is not installed: {error}") from error
