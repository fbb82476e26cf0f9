"""YOLO11n-seg with one class, started from a COCO detector without a mask head."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import torch
from settings import ModelSettings
from torch import Tensor, nn
from ultralytics import __version__ as ultralytics_version
from ultralytics.cfg import get_cfg
from ultralytics.nn.tasks import SegmentationModel

LICENSE = "AGPL-3.0 License (https://ultralytics.com/license)"


def _pick(weight: Tensor, count: int) -> Tensor:
    """Indices, ascending, of the ``count`` largest entries."""
    return torch.sort(torch.topk(weight, count).indices).values


def _score_branch(start: Mapping[str, Tensor], prefix: str, width: int, classes: tuple[int, ...]) -> dict[str, Tensor]:
    """One level's score branch of the start detector, narrowed to ``width`` channels and one class.

    Ultralytics makes the branch 80 wide for 80 classes and 64 wide for one, so the channels that matter most to
    ``classes`` are kept; their mean is the new class.
    """
    last = start[f"{prefix}.2.weight"][list(classes)].mean(0, keepdim=True)  # 1 x 80 x 1 x 1
    outer = _pick(last.abs().flatten(), width)
    point = start[f"{prefix}.1.1.conv.weight"][outer]  # width x 80 x 1 x 1
    inner = _pick(point.abs().sum((0, 2, 3)), width)
    out = {
        f"{prefix}.2.weight": last[:, outer],
        f"{prefix}.2.bias": start[f"{prefix}.2.bias"][list(classes)].mean(0, keepdim=True),
        f"{prefix}.1.1.conv.weight": point[:, inner],
        f"{prefix}.1.0.conv.weight": start[f"{prefix}.1.0.conv.weight"][inner],
        f"{prefix}.0.1.conv.weight": start[f"{prefix}.0.1.conv.weight"][inner],
    }
    for part in ("weight", "bias", "running_mean", "running_var"):
        out[f"{prefix}.1.1.bn.{part}"] = start[f"{prefix}.1.1.bn.{part}"][outer]
        out[f"{prefix}.1.0.bn.{part}"] = start[f"{prefix}.1.0.bn.{part}"][inner]
        out[f"{prefix}.0.1.bn.{part}"] = start[f"{prefix}.0.1.bn.{part}"][inner]
    return out


def make(settings: ModelSettings, start: Path) -> SegmentationModel:
    """The model in training mode, with the detector's weights; masks start at random (seed torch first).

    Raises RuntimeError where a weight that should transfer does not fit.
    """
    model = SegmentationModel(settings.yaml, nc=1, verbose=False)  # type: ignore[no-untyped-call]
    model.names = {0: settings.class_name}
    model.args = get_cfg()  # type: ignore[assignment]
    weights = dict(torch.load(start, weights_only=True, map_location="cpu"))
    own = model.state_dict()
    for level in range(3):
        prefix = f"model.23.cv3.{level}"
        weights.update(_score_branch(weights, prefix, own[f"{prefix}.2.weight"].shape[1], settings.start_classes))
    for key, value in weights.items():
        if own[key].shape != value.shape:
            raise RuntimeError(f"{key}: {tuple(value.shape)} does not fit {tuple(own[key].shape)}")
    model.load_state_dict(weights, strict=False)
    for parameter in model.parameters():
        parameter.requires_grad_(True)
    for name, parameter in model.named_parameters():
        if ".dfl" in name:  # the fixed ramp of the distribution's mean
            parameter.requires_grad_(False)
    return model.train()


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """AdamW's groups: kernels with decay, biases and normalisation without."""
    trained = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in trained if p.ndim > 1], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.ndim <= 1], "weight_decay": 0.0},
    ]


def save(model: SegmentationModel, path: Path, size: int) -> None:
    """Write an Ultralytics checkpoint in half precision, without optimiser, under a temporary name first."""
    model.args = {**vars(get_cfg()), "task": "segment", "imgsz": size}  # type: ignore[assignment]
    model.criterion = None
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    checkpoint = {
        "epoch": -1,
        "best_fitness": None,
        "model": model.half().eval(),
        "ema": None,
        "updates": None,
        "optimizer": None,
        "train_args": {"task": "segment", "imgsz": size},
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "version": ultralytics_version,
        "license": LICENSE,
    }
    temporary = path.with_suffix(".tmp")
    torch.save(checkpoint, temporary)
    temporary.replace(path)
