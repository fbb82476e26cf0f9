"""torchvision's choice among a graph's own raw values.

On a uniform tile thousands of anchors, and then of RoIs, tie up to the last bit, and which of them survive hangs on
that bit, in which ONNX Runtime and PyTorch differ. So the graph is asked for what its network says (objectness and
deltas of the anchors, class logits and deltas of the RoIs), and torchvision does everything else with these values,
ties going to the lower index in each of its sorts, as ONNX Runtime has it. What differs then is the graph's fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from rcnn_graphs import Case, Tiles
from torch import nn
from torchvision.models.detection import MaskRCNN
from torchvision.ops import boxes as box_ops
from torchvision.ops import nms

from edgekit.export.builder import Weights
from edgekit.export.graphs.two_stage import TwoStageGraph
from edgekit.export.onnx_writer import trace
from edgekit.export.rcnn import build
from edgekit.export.rcnn_reference import ReferenceRows, reference_rows
from edgekit.export.recipe import Target

LEVELS = 5
"""P2 to P6."""
RAW = (
    *(f"objectness_{level}" for level in range(LEVELS)), *(f"anchor_deltas_{level}" for level in range(LEVELS)),
    "logits", "roi_deltas", "roi_valid",
)  # fmt: skip


class Probed(nn.Module):
    """A graph that also returns `RAW`."""

    def __init__(self, graph: TwoStageGraph) -> None:
        super().__init__()
        self.graph = graph
        self._raw: list[torch.Tensor] = []
        graph.rpn_head.register_forward_hook(self._keep_maps)
        graph.detections.register_forward_pre_hook(self._keep_rois)

    def forward(self, tiles: torch.Tensor) -> tuple[torch.Tensor, ...]:
        self._raw.clear()
        outputs = self.graph(tiles)
        return (*outputs, *self._raw)

    def _keep_maps(self, _: nn.Module, __: Any, maps: tuple[list[torch.Tensor], list[torch.Tensor]]) -> None:
        self._raw += [*maps[0], *maps[1]]

    def _keep_rois(self, _: nn.Module, arguments: tuple[Any, ...]) -> None:
        logits, deltas, rois = arguments
        self._raw += [logits, deltas, rois.valid.to(torch.int32)]


class Told(nn.Module):
    """A head whose answer is known before it is asked."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer

    def forward(self, _: Any) -> Any:
        return self.answer


class Probe:
    """A float32 graph at batch 1: its outputs, and what torchvision makes of its raw values."""

    def __init__(self, case: Case, target: Target) -> None:
        built = build(case.recipe, Weights(untrained_seed=case.seed), target=target)
        assert isinstance(built.module, TwoStageGraph)
        self.model = case.model()
        names = (*built.output_names, *RAW)
        self._session = case.session(trace(replace(built, module=Probed(built.module), output_names=names)))

    def run(self, tile: Tiles) -> tuple[dict[str, np.ndarray], ReferenceRows]:
        """The graph's outputs, and torchvision's rows."""
        names = [item.name for item in self._session.get_outputs()]
        outputs = dict(zip(names, self._session.run(None, {"tiles": tile[None]}), strict=True))
        with told(self.model, {name: torch.from_numpy(outputs[name]) for name in RAW}), ties_by_index(self.model):
            return outputs, reference_rows(self.model, tile)


@contextmanager
def told(model: MaskRCNN, raw: dict[str, torch.Tensor]) -> Iterator[None]:
    """The model with the raw values in place of its RPN head and its box predictor."""
    maps = tuple([raw[f"{kind}_{level}"] for level in range(LEVELS)] for kind in ("objectness", "anchor_deltas"))
    found = raw["roi_valid"][0] > 0
    rois = raw["logits"][0, found], raw["roi_deltas"][0, found]
    heads: Any = model.roi_heads
    own = model.rpn.head, heads.box_predictor
    model.rpn.head, heads.box_predictor = Told(maps), Told(rois)
    try:
        yield
    finally:
        model.rpn.head, heads.box_predictor = own


@contextmanager
def ties_by_index(model: MaskRCNN) -> Iterator[None]:
    """torchvision with stable sorts: before NMS of the proposals and behind it (its NMS has one already)."""
    first = partial(_first_of_level, most=model.rpn.pre_nms_top_n())
    with patch.object(model.rpn, "_get_top_n_idx", first), patch.object(box_ops, "batched_nms", _batched_nms):
        yield


def _first_of_level(objectness: torch.Tensor, per_level: list[int], *, most: int) -> torch.Tensor:
    """torchvision's `RegionProposalNetwork._get_top_n_idx` with a stable sort."""
    starts = np.cumsum([0, *per_level[:-1]])
    best = [
        level.sort(dim=1, descending=True, stable=True)[1][:, :most] + int(start)
        for level, start in zip(objectness.split(per_level, 1), starts, strict=True)
    ]
    return torch.cat(best, dim=1)


def _batched_nms(boxes: torch.Tensor, scores: torch.Tensor, groups: torch.Tensor, iou: float) -> torch.Tensor:
    """torchvision's `batched_nms`, group after group, with a stable sort."""
    kept = torch.zeros_like(scores, dtype=torch.bool)
    for group in torch.unique(groups):
        rows = torch.where(groups == group)[0]
        kept[rows[nms(boxes[rows], scores[rows], iou)]] = True
    rows = torch.where(kept)[0]
    return rows[scores[rows].sort(descending=True, stable=True)[1]]
