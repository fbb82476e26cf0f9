"""The graph of a YOLO segmentation model, from uint8 tiles to the rows of the graph contract.

`YoloGraph.forward` is the recipe: prepare, features, head, best candidates, decode, suppress, cut to K, masks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn

from edgekit.contracts import ResultFlag
from edgekit.export.graphs.boxes import probability
from edgekit.export.graphs.halves import halve_blocks
from edgekit.export.graphs.prototypes import FoldedPrototypes, can_fold, frame_of, interleave
from edgekit.export.graphs.suppress import Suppressor
from edgekit.export.recipe import Recipe, Target

LEFT_TOP = slice(0, 2)
RIGHT_BOTTOM = slice(2, 4)

CLASS_SHIFT_TILES = 4
"""Boxes of different classes are moved apart by this many tiles, so that none overlap. A box reaches at most one tile
beyond its own; Ultralytics moves by 7680 px, which leaves float32 a sixteenth of a pixel at class 79."""


class RawHead(NamedTuple):
    """What the head says before anything is decoded; A anchors."""

    box_logits: torch.Tensor
    """B x 4 * bins x A."""
    class_logits: torch.Tensor
    """B x C x A."""
    coefficients: torch.Tensor
    """B x P x A."""
    prototypes: torch.Tensor
    """B x P x m x m, or B x P x 4 x m/2 x m/2 where the pixels come by phase."""


class Candidates(NamedTuple):
    """The N best boxes, best first."""

    boxes: torch.Tensor
    """float32, B x N x 4, xyxy in tile pixels."""
    scores: torch.Tensor
    """float32, B x N."""
    labels: torch.Tensor
    """int64, B x N."""
    coefficients: torch.Tensor
    """B x N x P."""


@dataclass(frozen=True)
class YoloSettings:
    """What the graph is built for."""

    target: Target
    tile_size_px: int
    inner_size_px: int
    max_detections: int
    nms_candidates: int
    score_floor: float
    nms_iou: float

    @classmethod
    def from_recipe(cls, recipe: Recipe, target: Target) -> YoloSettings:
        """The settings of a recipe that concern the graph."""
        return cls(
            target,
            recipe.tile_size_px,
            recipe.inner_size_px,
            recipe.max_detections,
            recipe.nms_candidates,
            recipe.score_floor,
            recipe.nms_iou,
        )


class HeadMaps(nn.Module):
    """Ultralytics' head up to its last convolutions; a model with a one-to-one head uses that one.

    A module of its own, so that its nodes carry the scope `/head`, by which reduced precision finds them.

    Args:
        head: Ultralytics' own.
        target: for the CPU the prototypes are computed with less arithmetic, where they can be.
    """

    def __init__(self, head: nn.Module, target: Target) -> None:
        super().__init__()
        self.inner = head
        proto: Any = head.proto
        self.proto = FoldedPrototypes(proto) if target == "cpu" and can_fold(proto) else proto

    def forward(self, maps: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Feature maps to the fields of `RawHead`."""
        head: Any = self.inner
        raw = head.forward_head(maps, **(head.one2one if head.end2end else head.one2many))
        prototypes = self.proto(maps if hasattr(self.proto, "feat_refine") else maps[0])
        return raw["boxes"], raw["scores"], raw["mask_coefficient"], prototypes


class YoloGraph(nn.Module):
    """An Ultralytics segmentation model with everything around it, in static shapes.

    Args:
        layers: the model's `model` list, fused, in evaluation mode; its last layer is a `Segment` head.
        settings: sizes and limits.
    """

    anchors: torch.Tensor
    strides: torch.Tensor

    def __init__(self, layers: nn.Sequential, settings: YoloSettings) -> None:
        super().__init__()
        head: Any = layers[-1]
        self.layers = halve_blocks(layers[:-1]) if settings.target == "cpu" else layers[:-1]
        self.head = HeadMaps(head, settings.target)
        self.taps = head.f
        self.settings = settings
        self.suppress = not head.end2end
        self.suppressor = Suppressor(settings.nms_iou, settings.target)
        self.bins = int(head.reg_max)
        anchors, strides = anchor_points([int(stride) for stride in head.stride], settings.inner_size_px)
        self.register_buffer("anchors", anchors)
        self.register_buffer("strides", strides)
        self.candidates = min(settings.nms_candidates, len(anchors))
        self.rows = settings.max_detections

    def forward(self, tiles: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """uint8 tiles, B x S x S x 3, to the outputs of the graph contract."""
        raw = RawHead(*self.head(self.features(self.prepare(tiles))))
        candidates, cut = self.best_candidates(raw)
        keep, settled = self.survivors(candidates)
        rows, count, total = self.best_rows(candidates, keep)
        masks = self.masks(rows.coefficients, raw.prototypes, count)
        flags = (~settled).to(torch.int32) * int(ResultFlag.NMS_NOT_CONVERGED)
        flags = flags + cut.to(torch.int32) * int(ResultFlag.PROPOSALS_CUT)
        return count, rows.boxes, rows.scores, rows.labels.to(torch.int32), masks, total, flags

    def prepare(self, tiles: torch.Tensor) -> torch.Tensor:
        """Pixels to 0..1, channels first, in the size that the network wants."""
        size = self.settings.inner_size_px
        if self.settings.target == "cpu":
            image = tiles.permute(0, 3, 1, 2).to(torch.float32)  # bytes are cheaper to move
        else:
            image = tiles.to(torch.float32).permute(0, 3, 1, 2)  # TensorRT takes uint8 in casts alone
        image = image * (1.0 / 255.0)
        if size == self.settings.tile_size_px:
            return image
        return nn.functional.interpolate(image, size=(size, size), mode="bilinear", align_corners=False)

    def features(self, image: torch.Tensor) -> list[torch.Tensor]:
        """The maps that enter the head (Ultralytics' `BaseModel._predict_once`)."""
        kept: list[torch.Tensor] = []
        current = image
        layers: list[Any] = list(self.layers)
        for layer in layers:
            current = layer(pick(layer.f, current, kept))
            kept.append(current)
        maps = pick(self.taps, current, kept)
        assert isinstance(maps, list)
        return maps

    def best_candidates(self, raw: RawHead) -> tuple[Candidates, torch.Tensor]:
        """The N best anchors by their best class, decoded; and whether more than N lie above the floor (bool, B)."""
        logits, labels = raw.class_logits.max(dim=1)
        best, anchor = logits.topk(self.candidates, dim=1)
        scores = probability(best.to(torch.float32))
        boxes = self.decode(take(raw.box_logits, anchor), anchor)
        coefficients = take(raw.coefficients, anchor).transpose(1, 2)
        above = (probability(logits.to(torch.float32)) >= self.settings.score_floor).sum(dim=1)
        return Candidates(boxes, scores, labels.gather(1, anchor), coefficients), above > self.candidates

    def decode(self, box_logits: torch.Tensor, anchor: torch.Tensor) -> torch.Tensor:
        """Distances to the four sides, in strides, to xyxy in tile pixels (float32).

        With bins a distance is the mean of a distribution over 0 .. bins - 1 (Li et al. 2020, Generalized Focal Loss).

        Args:
            box_logits: B x 4 * bins x N.
            anchor: int64, B x N.
        """
        logits = box_logits.to(torch.float32).transpose(1, 2).reshape(len(anchor), self.candidates, 4, self.bins)
        if self.bins > 1:
            weights = torch.arange(self.bins, dtype=torch.float32, device=logits.device)
            distances = (logits.softmax(dim=3) * weights).sum(dim=3)
        else:
            distances = logits.squeeze(3)
        centre = self.anchors[anchor]
        corners = torch.cat([centre - distances[..., LEFT_TOP], centre + distances[..., RIGHT_BOTTOM]], dim=2)
        scale = self.settings.tile_size_px / self.settings.inner_size_px
        return corners * (self.strides[anchor] * scale).unsqueeze(2)

    def survivors(self, candidates: Candidates) -> tuple[torch.Tensor, torch.Tensor]:
        """Which candidates are above the floor and survive NMS within their class (bool, B x N); and whether NMS came
        to its end (bool, B)."""
        eligible = candidates.scores >= self.settings.score_floor
        if not self.suppress:
            return eligible, torch.ones(len(eligible), dtype=torch.bool, device=eligible.device)
        shift = candidates.labels.to(torch.float32) * (CLASS_SHIFT_TILES * self.settings.tile_size_px)
        keep, settled = self.suppressor(candidates.boxes + shift.unsqueeze(2), eligible)
        return keep, settled

    def best_rows(self, candidates: Candidates, keep: torch.Tensor) -> tuple[Candidates, torch.Tensor, torch.Tensor]:
        """The first K survivors, zeros behind them; their number and the number before the cut (int32, B)."""
        total = keep.to(torch.int32).sum(dim=1).to(torch.int32)
        count = total.clamp(max=self.rows)
        order = keep.to(torch.float32) * torch.arange(self.candidates, 0, -1, dtype=torch.float32, device=keep.device)
        _, row = order.topk(self.rows, dim=1)
        valid = (torch.arange(self.rows, device=keep.device) < count.unsqueeze(1)).to(torch.float32)
        boxes = candidates.boxes.gather(1, row.unsqueeze(2).expand(-1, -1, 4))
        boxes = boxes.clamp(0.0, float(self.settings.tile_size_px)) * valid.unsqueeze(2)
        scores = candidates.scores.gather(1, row) * valid
        labels = candidates.labels.gather(1, row) * valid.to(torch.int64)
        width = candidates.coefficients.shape[2]
        coefficients = candidates.coefficients.gather(1, row.unsqueeze(2).expand(-1, -1, width))
        return Candidates(boxes, scores, labels, coefficients), count, total

    def masks(self, coefficients: torch.Tensor, prototypes: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
        """Probability x 255 over the whole tile, at the prototypes' resolution: uint8, B x K x m x m."""
        batch, parts = prototypes.shape[:2]
        height, width = frame_of(prototypes)
        flat = prototypes.reshape(batch, parts, height * width)
        if self.settings.target == "cpu":
            rows: Any = count.max().to(torch.int64)  # traced, so that the graph draws the rows in use and no others
            drawn = compose(coefficients[:, :rows], flat, count).to(torch.uint8)
            if isinstance(self.head.proto, FoldedPrototypes):
                drawn = interleave(drawn.reshape(-1, *prototypes.shape[2:]))
            drawn = drawn.reshape(batch, -1, height, width)
            return nn.functional.pad(drawn, (0, 0, 0, 0, 0, self.rows - rows))  # last, so that nothing is copied again
        drawn = compose(coefficients, flat, count).reshape(batch, self.rows, height, width)
        return drawn.to(torch.uint8)  # last, because TensorRT takes uint8 at the ends of a graph alone


def compose(coefficients: torch.Tensor, prototypes: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    """sigmoid(coefficients @ prototypes) x 255, rounded, zero in rows from `count` on: B x rows x pixels."""
    rows = torch.arange(coefficients.shape[1], device=count.device)
    valid = (rows < count.unsqueeze(1)).to(coefficients.dtype) * 255.0
    return ((coefficients @ prototypes).sigmoid() * valid.unsqueeze(2)).round()


def anchor_points(strides: list[int], size_px: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Centres of all cells in units of their stride (A x 2, x and y), and the strides (A), level by level."""
    points, scales = [], []
    for stride in strides:
        side = size_px // stride
        centre = torch.arange(side, dtype=torch.float32) + 0.5
        y, x = torch.meshgrid(centre, centre, indexing="ij")
        points.append(torch.stack([x.flatten(), y.flatten()], dim=1))
        scales.append(torch.full((side * side,), float(stride)))
    return torch.cat(points), torch.cat(scales)


def pick(source: int | list[int], current: torch.Tensor, kept: list[torch.Tensor]) -> torch.Tensor | list[torch.Tensor]:
    """A layer's input: the output of the layer before (-1) or of those with a number."""
    if isinstance(source, int):
        return current if source == -1 else kept[source]
    return [current if index == -1 else kept[index] for index in source]


def take(values: torch.Tensor, anchor: torch.Tensor) -> torch.Tensor:
    """Columns `anchor` (B x N) of B x C x A: B x C x N."""
    return values.gather(2, anchor.unsqueeze(1).expand(-1, values.shape[1], -1))
