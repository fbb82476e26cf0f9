"""The detections of all tiles in one table, in panorama pixels, in an order that depends on nothing but themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgekit.contracts import Instances, MaskCrop, TileSpec
from edgekit.masks import clip, trim

Ints = npt.NDArray[np.int64]

LEFT, TOP, RIGHT, BOTTOM = range(4)
"""Columns of `Pieces.cut_sides` and of every xyxy."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """What the tiles saw, a row per detection, best score first; a piece is one tile's view of a fruit."""

    instances: Instances
    """In panorama pixels, nothing beyond the panorama; no mask is empty."""
    tile: Ints
    """N; index of the piece's tile in the sequence that was merged."""
    row: Ints
    """N; row in that tile's result."""
    bounds_xyxy: Ints
    """N x 4; box of the mask's pixels."""
    area_px: Ints
    """N; pixels of the mask."""
    seen_xyxy: Ints
    """N x 4; the part of the panorama that the piece's tile sees."""
    cut_sides: npt.NDArray[np.bool_]
    """N x 4; whether the mask touches the left, top, right, bottom border of its tile, where the panorama goes on."""
    cut: npt.NDArray[np.bool_]
    """N; whether it touches any of them."""

    def __len__(self) -> int:
        return len(self.instances)

    def select(self, rows: npt.NDArray[np.bool_]) -> Pieces:
        """The rows that a boolean mask names."""
        return Pieces(
            self.instances.select(rows), self.tile[rows], self.row[rows], self.bounds_xyxy[rows], self.area_px[rows],
            self.seen_xyxy[rows], self.cut_sides[rows], self.cut[rows],
        )  # fmt: skip


def gather_pieces(
    specs: Sequence[TileSpec], results: Sequence[Instances], size_wh: tuple[int, int], border_px: int
) -> Pieces:
    """Bring the detections of all tiles into the panorama; what lies in a tile's padding is clipped, then dropped."""
    width, height = size_wh
    masks: list[MaskCrop] = []
    places: list[tuple[int, int]] = []
    for tile, (spec, result) in enumerate(zip(specs, results, strict=True)):
        for row, mask in enumerate(result.masks):
            inside = trim(clip(mask.shifted(spec.x_px, spec.y_px), 0, 0, width, height))
            if inside.plane.size:
                masks.append(inside)
                places.append((tile, row))
    tile, row = np.array(places, np.int64).reshape(-1, 2).T
    instances = _columns(specs, results, places, masks, size_wh)
    bounds = np.array([_bounds(mask) for mask in masks], np.int64).reshape(-1, 4)
    seen = seen_xyxy(specs, size_wh)[tile]
    order = piece_order(instances, bounds, seen, row)
    cut_sides = _cut_sides(bounds, seen, size_wh, border_px)[order]
    return Pieces(
        instances=instances.select(order),
        tile=tile[order],
        row=row[order],
        bounds_xyxy=bounds[order],
        area_px=np.array([np.count_nonzero(masks[i].plane) for i in order], np.int64),
        seen_xyxy=seen[order],
        cut_sides=cut_sides,
        cut=np.asarray(cut_sides.any(axis=1)),
    )


def seen_xyxy(specs: Sequence[TileSpec], size_wh: tuple[int, int]) -> Ints:
    """The part of the panorama that each tile sees: T x 4, pixels."""
    corners = np.array([(s.x_px, s.y_px, s.x_px + s.size_px, s.y_px + s.size_px) for s in specs], np.int64)
    return np.clip(corners.reshape(-1, 4), 0, np.array(size_wh * 2, np.int64))


def piece_order(instances: Instances, bounds_xyxy: Ints, seen_xyxy: Ints, row: Ints) -> npt.NDArray[np.intp]:
    """The order in which ties are broken everywhere: score, then place from the left, size, class, place of the tile.

    It uses nothing that depends on the order in which tiles were cut, numbered or batched.
    """
    keys = (instances.scores * -1, *bounds_xyxy.T, instances.labels, *seen_xyxy.T, row)
    return np.lexsort(keys[::-1])


def _columns(
    specs: Sequence[TileSpec],
    results: Sequence[Instances],
    places: Sequence[tuple[int, int]],
    masks: Sequence[MaskCrop],
    size_wh: tuple[int, int],
) -> Instances:
    rows_of: list[list[int]] = [[] for _ in specs]
    for tile, row in places:
        rows_of[tile].append(row)
    boxes, scores, labels = [np.zeros((0, 4), np.float32)], [np.zeros(0, np.float32)], [np.zeros(0, np.int32)]
    for spec, result, rows in zip(specs, results, rows_of, strict=True):
        offset = np.array([spec.x_px, spec.y_px] * 2, np.float32)
        boxes.append(np.clip(result.boxes_xyxy[rows] + offset, 0, np.array(size_wh * 2, np.float32)))
        scores.append(result.scores[rows])
        labels.append(result.labels[rows])
    return Instances(np.concatenate(boxes), np.concatenate(scores), np.concatenate(labels), tuple(masks))


def _bounds(mask: MaskCrop) -> tuple[int, int, int, int]:
    height, width = mask.plane.shape
    return mask.x_px, mask.y_px, mask.x_px + width, mask.y_px + height


def _cut_sides(bounds: Ints, seen: Ints, size_wh: tuple[int, int], border_px: int) -> npt.NDArray[np.bool_]:
    width, height = size_wh
    goes_on = np.stack([seen[:, LEFT] > 0, seen[:, TOP] > 0, seen[:, RIGHT] < width, seen[:, BOTTOM] < height], axis=1)
    touched: npt.NDArray[np.bool_] = goes_on & (np.abs(bounds - seen) < border_px)
    return touched
