"""Tiles with labels, cut from the pictures that a model is judged on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from data import Image, Polygon, fruit_of, raster, read_rgb


@dataclass(frozen=True)
class TestSet:
    """A set of pictures and how tiles are cut from them."""

    __test__ = False  # not a pytest class

    name: str
    """Name in the figures."""
    folder: str
    """Folder under the data root; pictures in its ``images/``."""
    labels: str
    """COCO file in the folder."""
    rule: str
    """``long:N`` or ``width:N``: resized so, then cut into tiles; ``fit``: long side to one tile, padded with black."""
    only: tuple[str, ...] = ()
    """Pictures to take; empty: all."""
    without: tuple[str, ...] = ()
    """Pictures to leave out."""


@dataclass(frozen=True)
class Tile:
    """image: S x S x 3 uint8 RGB; masks: per labelled fruit S x S uint8 (0, 1)."""

    picture: str
    image: Image
    masks: tuple[Image, ...]


def factor(rule: str, size_wh: tuple[int, int], side: int) -> float:
    """By how much a picture is resized. Raises ValueError on an unknown rule."""
    kind, _, number = rule.partition(":")
    if kind == "fit":
        return side / max(size_wh)
    if kind == "long":
        return float(number) / max(size_wh)
    if kind == "width":
        return float(number) / size_wh[0]
    raise ValueError(f"rule must be 'fit', 'long:N' or 'width:N', got {rule!r}")


def starts(length: int, side: int) -> list[int]:
    """Origins of the fewest tiles that cover ``length`` pixels, evenly spread; the last one ends at the border."""
    count = max(-(-length // side), 1)
    if count == 1:
        return [0]
    return [round(k * (length - side) / (count - 1)) for k in range(count)]


def cut(
    image: Image, fruit: list[list[Polygon]], side: int, keep: tuple[float, int]
) -> Iterator[tuple[Image, list[Image]]]:
    """Tiles of a picture (padded with black where it is smaller) with the labels that stay.

    keep: least visible share of the fruit and least visible area in pixels.
    """
    height, width = image.shape[:2]
    planes = [raster(f, height, width) for f in fruit]
    areas = [int(p.sum()) for p in planes]
    pad = ((0, max(side - height, 0)), (0, max(side - width, 0)))
    image = np.pad(image, (*pad, (0, 0)))
    planes = [np.pad(p, pad) for p in planes]
    for y in starts(height, side):
        for x in starts(width, side):
            seen = [p[y : y + side, x : x + side] for p in planes]
            visible = [int(s.sum()) for s in seen]
            kept = [s for s, v, a in zip(seen, visible, areas, strict=True) if v >= keep[1] and v >= keep[0] * a]
            yield image[y : y + side, x : x + side], kept


def tiles_of(root: Path, test: TestSet, *, every: int = 1, side: int = 512) -> list[Tile]:
    """All tiles of a set, of every ``every``-th picture. Labels stay with 15 % and 40 pixels of the fruit visible."""
    coco = json.loads((root / test.folder / test.labels).read_text(encoding="utf-8"))
    infos = [i for i in coco["images"] if not test.only or i["file_name"] in test.only]
    infos = [i for i in infos if i["file_name"] not in test.without]
    tiles = []
    for info in infos[::every]:
        image = read_rgb(root / test.folder / "images" / info["file_name"])
        scale = factor(test.rule, (image.shape[1], image.shape[0]), side)
        size = (round(image.shape[1] * scale), round(image.shape[0] * scale))
        if size != (image.shape[1], image.shape[0]):
            way = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
            image = np.asarray(cv2.resize(image, size, interpolation=way), np.uint8)
        fruit = [[p * scale for p in f] for f in fruit_of(coco, info["id"])]
        tiles += [Tile(info["file_name"], t, tuple(m)) for t, m in cut(image, fruit, side, (0.15, 40))]
    return tiles
