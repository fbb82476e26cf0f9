"""A panorama that is known exactly, and a segmenter that sees all of it that lies in a tile."""

from __future__ import annotations

import numpy as np

from edgekit.contracts import Instances, MaskCrop, TileSpec
from edgekit.masks import bounds_xyxy, clip, trim


def disc(x: float, y: float, radius: float) -> MaskCrop:
    """Pixels whose centre lies within `radius` of (x, y)."""
    x0, y0 = int(np.floor(x - radius)), int(np.floor(y - radius))
    side = int(np.ceil(2 * radius)) + 2
    rows, columns = np.ogrid[:side, :side]
    plane = (columns + x0 + 0.5 - x) ** 2 + (rows + y0 + 0.5 - y) ** 2 <= radius**2
    return trim(MaskCrop(plane, x0, y0))


def instances_of(masks, scores=None, labels=None) -> Instances:
    """Instances with the boxes of their masks; empty masks are dropped."""
    scores = [0.9] * len(masks) if scores is None else scores
    labels = [0] * len(masks) if labels is None else labels
    rows = [(mask, score, label) for mask, score, label in zip(masks, scores, labels, strict=True) if mask.plane.size]
    if not rows:
        return Instances.empty()
    return Instances(
        np.stack([bounds_xyxy(mask) for mask, _, _ in rows]),
        np.array([score for _, score, _ in rows], np.float32),
        np.array([label for _, _, label in rows], np.int32),
        tuple(mask for mask, _, _ in rows),
    )


def see(scene: Instances, spec: TileSpec) -> Instances:
    """What a perfect segmenter answers for one tile: every fruit's part in the tile, in tile pixels."""
    end_x, end_y = spec.x_px + spec.size_px, spec.y_px + spec.size_px
    parts = [trim(clip(mask, spec.x_px, spec.y_px, end_x, end_y)) for mask in scene.masks]
    return instances_of(parts, scene.scores, scene.labels).shifted(-spec.x_px, -spec.y_px)


def same(one: Instances, other: Instances) -> bool:
    """Equal in every number and pixel."""
    columns = all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("boxes_xyxy", "scores", "labels")
    )
    return columns and len(one) == len(other) and all(map(same_mask, one.masks, other.masks))


def same_mask(one: MaskCrop, other: MaskCrop) -> bool:
    one, other = trim(one), trim(other)
    return (one.x_px, one.y_px) == (other.x_px, other.y_px) and np.array_equal(one.plane, other.plane)
