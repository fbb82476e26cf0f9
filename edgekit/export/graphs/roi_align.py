"""MultiScaleRoIAlign from the atlas, in static shapes: ONNX's RoiAlign on the CPU, GridSample for TensorRT."""

from __future__ import annotations

import torch
from torch import nn
from torchvision.ops import roi_align

from edgekit.export.graphs.atlas import Layout, Places, places
from edgekit.export.graphs.sizes import sizes
from edgekit.export.recipe import Target

SAMPLES = 2
"""Samples per output cell and direction, torchvision's sampling ratio."""
BAND_CELLS = 8.0
"""Height of the bands in which RoIs are read, about that of a RoI: 1000 RoIs of 7 to 28 cells in random order took
ONNX Runtime 0.53 s of one core, in this order 0.25 s (`python bench/export/roi_order.py`)."""
OFF_CANVAS = -16.0
"""A place that is certainly beyond the canvas, in cells; GridSample gives zero there."""


class AtlasRoiAlign(nn.Module):
    """torchvision's `MultiScaleRoIAlign` (sampling ratio 2, not aligned) on a packed pyramid.

    ONNX Runtime's CPU provider runs its RoiAlign about four times as fast as the same by GridSample; TensorRT runs
    GridSample natively.

    Args:
        size: output cells per side.
        layout: of the atlas.
        target: what the graph will run on.
    """

    def __init__(self, size: int, layout: Layout, target: Target) -> None:
        super().__init__()
        self.size = size
        self.layout = layout
        self.target = target

    def forward(self, atlas: torch.Tensor, rois: torch.Tensor, image: torch.Tensor) -> torch.Tensor:
        """Pool RoIs.

        Args:
            atlas: float32, B x C x height x width.
            rois: float32, N x 4, xyxy in pixels of the network's picture, clipped to it.
            image: int64, N; which picture a RoI belongs to. For TensorRT N / B rows a picture, in order.

        Returns:
            float32, N x C x size x size.
        """
        place = places(rois, self.layout)
        if self.target == "cpu":
            return self._by_operator(atlas, rois, image, place)
        return self._by_grid(atlas, rois, place)

    def reading_order(self, rois: torch.Tensor, image: torch.Tensor) -> torch.Tensor:
        """Row numbers of RoIs as a reader of the canvas meets them: band after band, from left to right.

        Neighbours share cells, so that pooling in this order finds most of the map in the cache.

        Args:
            rois: float32, N x 4.
            image: int64, N.
        """
        place = places(rois, self.layout)
        x = 0.5 * (rois[:, 0] + rois[:, 2]) * place.scale + place.left
        y = 0.5 * (rois[:, 1] + rois[:, 3]) * place.scale + place.top
        bands = self.layout.height // BAND_CELLS + 1.0
        band = image.to(torch.float32) * bands + (y / BAND_CELLS).floor()
        return (band * self.layout.width + x).argsort()

    def _by_operator(self, atlas: torch.Tensor, rois: torch.Tensor, image: torch.Tensor, place: Places) -> torch.Tensor:
        shift = torch.stack([place.left, place.top, place.left, place.top], dim=1)
        moved = rois * place.scale.unsqueeze(1) + shift
        rows = torch.cat([image.to(torch.float32).unsqueeze(1), moved], dim=1)
        pooled: torch.Tensor = roi_align(atlas, rows, self.size, spatial_scale=1.0, sampling_ratio=SAMPLES)
        return pooled

    def _by_grid(self, atlas: torch.Tensor, rois: torch.Tensor, place: Places) -> torch.Tensor:
        batch, channels = sizes(atlas)[:2]
        per_image = sizes(rois)[0] // batch
        fine = self.size * SAMPLES
        x = self._positions(rois[:, 0], rois[:, 2], place, place.left, self.layout.width)
        y = self._positions(rois[:, 1], rois[:, 3], place, place.top, self.layout.height)
        grid = torch.stack([x.unsqueeze(1).expand(-1, fine, -1), y.unsqueeze(2).expand(-1, -1, fine)], dim=3)
        grid = grid.reshape(batch, per_image * fine, fine, 2)
        samples = nn.functional.grid_sample(atlas, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
        means = nn.functional.avg_pool2d(samples, SAMPLES)
        means = means.reshape(batch, channels, per_image, self.size, self.size).transpose(1, 2)
        return means.reshape(batch * per_image, channels, self.size, self.size)

    def _positions(
        self, low: torch.Tensor, high: torch.Tensor, place: Places, offset: torch.Tensor, length: int
    ) -> torch.Tensor:
        """Where the samples of one direction lie, N x 2 size, in GridSample's -1..1 over the canvas.

        As torchvision's roi_align: a RoI is at least one cell wide, samples are clamped to the level, and what lies
        beyond it is zero.
        """
        fine = self.size * SAMPLES
        start = low * place.scale
        width = (high * place.scale - start).clamp(min=1.0)
        steps = (torch.arange(fine, dtype=torch.float32) + 0.5) / fine
        at = start.unsqueeze(1) + width.unsqueeze(1) * steps
        side = place.side.unsqueeze(1)
        on_canvas = torch.minimum(at, side - 1.0) + offset.unsqueeze(1)
        on_canvas = torch.where(at > side, torch.full_like(at, OFF_CANVAS), on_canvas)
        return (2.0 * on_canvas + 1.0) / length - 1.0
