"""Scenes that are known exactly, and a segmenter that sees nothing but the pixels of its tile, and those perfectly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import ndimage

from edgekit.contracts import Image, Instances, MaskCrop, TileResult, TileSpec
from edgekit.masks import bounds_xyxy, trim
from edgekit.tiles import cut_tile


def disc(x: float, y: float, radius: float) -> MaskCrop:
    """Pixels whose centre lies within `radius` of (x, y)."""
    x0, y0 = int(np.floor(x - radius)), int(np.floor(y - radius))
    side = int(np.ceil(2 * radius)) + 2
    rows, columns = np.ogrid[:side, :side]
    plane = (columns + x0 + 0.5 - x) ** 2 + (rows + y0 + 0.5 - y) ** 2 <= radius**2
    return trim(MaskCrop(plane, x0, y0))


def block(x0: int, y0: int, x1: int, y1: int) -> MaskCrop:
    """A rectangle, x0 <= x < x1, y0 <= y < y1."""
    return MaskCrop(np.ones((y1 - y0, x1 - x0), np.bool_), x0, y0)


def instances_of(
    masks: Sequence[MaskCrop], scores: Sequence[float] | None = None, labels: Sequence[int] | None = None
) -> Instances:
    """Instances with the boxes of their masks."""
    if not masks:
        return Instances.empty()
    return Instances(
        np.stack([bounds_xyxy(mask) for mask in masks]),
        np.array([0.9] * len(masks) if scores is None else scores, np.float32),
        np.array([0] * len(masks) if labels is None else labels, np.int32),
        tuple(masks),
    )


def paint(masks: Sequence[MaskCrop], size_wh: tuple[int, int]) -> Image:
    """A picture in which the pixels of mask i have the colour i + 1; a later mask lies in front of an earlier one."""
    width, height = size_wh
    numbers = np.zeros((height, width), np.int32)
    for number, mask in enumerate(masks, 1):
        rows, columns = np.nonzero(mask.plane)
        rows, columns = rows + mask.y_px, columns + mask.x_px
        inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
        numbers[rows[inside], columns[inside]] = number
    return np.stack([numbers % 256, numbers // 256, np.zeros_like(numbers)], axis=2).astype(np.uint8)


class PerfectSegmenter:
    """Finds every painted fruit of a tile, however little of it is seen. Score and class are the fruit's own."""

    def __init__(self, scores: Sequence[float], labels: Sequence[int]) -> None:
        self.scores = scores
        self.labels = labels

    def segment(self, tiles: np.ndarray) -> list[TileResult]:
        found = [self.see(tile) for tile in tiles]
        return [TileResult(instances, len(instances)) for instances in found]

    def see(self, tile: Image) -> Instances:
        numbers = tile[:, :, 0].astype(np.int32) + 256 * tile[:, :, 1].astype(np.int32)
        masks, fruit = [], []
        for number, place in enumerate(ndimage.find_objects(numbers), 1):
            if place is not None:
                rows, columns = place
                masks.append(MaskCrop(numbers[place] == number, columns.start, rows.start))
                fruit.append(number - 1)
        return instances_of(masks, [self.scores[i] for i in fruit], [self.labels[i] for i in fruit])


def segment_all(segmenter: PerfectSegmenter, picture: Image, specs: Sequence[TileSpec], batch: int) -> list[Instances]:
    """The results of all tiles in the order of `specs`, run in batches, the last one padded with black."""
    results: list[Instances] = []
    for start in range(0, len(specs), batch):
        tiles = [cut_tile(picture, spec) for spec in specs[start : start + batch]]
        tiles += [np.zeros_like(tiles[0])] * (batch - len(tiles))
        results += [result.instances for result in segmenter.segment(np.stack(tiles))]
    return results[: len(specs)]


def same(one: Instances, other: Instances) -> bool:
    """Equal in every number and pixel."""
    columns = all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("boxes_xyxy", "scores", "labels")
    )
    return columns and len(one) == len(other) and all(map(same_mask, one.masks, other.masks))


def same_mask(one: MaskCrop, other: MaskCrop) -> bool:
    one, other = trim(one), trim(other)
    return (one.x_px, one.y_px) == (other.x_px, other.y_px) and np.array_equal(one.plane, other.plane)


def left_to_right(instances: Instances) -> Instances:
    """By place, as fruit leave the merge; ties by the other corner, class and score, so that there is one order."""
    return instances.select(np.lexsort((instances.scores, instances.labels, *instances.boxes_xyxy.T[::-1])))
