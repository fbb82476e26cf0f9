"""Labelled pictures in memory: COCO polygons, held-out pictures left out, a bank of fruit to paste."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from settings import SetSettings

Image = NDArray[np.uint8]
Polygon = NDArray[np.float32]


@dataclass(frozen=True)
class Picture:
    """A picture with its fruit.

    image: H x W x 3 uint8 RGB; fruit: per fruit its polygons, each N x 2 float32 (x, y) in picture pixels;
    base: factor that brings the picture to scale 1 of its set.
    """

    name: str
    image: Image
    fruit: tuple[tuple[Polygon, ...], ...]
    base: float


@dataclass(frozen=True)
class Cutout:
    """A fruit cut out of its picture. image: h x w x 3 uint8 RGB; mask: h x w uint8, 0 or 1; area in pixels."""

    image: Image
    mask: Image
    area: float


def read_rgb(path: Path) -> Image:
    """The picture as H x W x 3 uint8 RGB. Raises FileNotFoundError."""
    bgr = cv2.imread(str(path), cv2.IMREAD_COLOR)
    if bgr is None:
        raise FileNotFoundError(f"no readable picture at {path}")
    return np.ascontiguousarray(bgr[:, :, ::-1]).astype(np.uint8)


def polygon_area(polygon: Polygon) -> float:
    """Area in square pixels of an N x 2 polygon (shoelace formula)."""
    x, y = polygon[:, 0].astype(np.float64), polygon[:, 1].astype(np.float64)
    return float(abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2)


def fruit_area(polygons: Iterable[Polygon]) -> float:
    """Area in square pixels of one fruit's polygons."""
    return sum(polygon_area(p) for p in polygons)


def fruit_of(coco: dict[str, Any], image_id: int, categories: tuple[str, ...] = ()) -> tuple[tuple[Polygon, ...], ...]:
    """Polygons of every fruit of one picture, in the file's order; crowds and other categories left out."""
    names = {c["id"]: c["name"] for c in coco["categories"]}
    return tuple(
        tuple(np.asarray(p, np.float32).reshape(-1, 2) for p in a["segmentation"])
        for a in coco["annotations"]
        if a["image_id"] == image_id
        and not a.get("iscrowd")
        and (not categories or names[a["category_id"]] in categories)
    )


def _base(rule: str, width: int, fruit: tuple[tuple[Polygon, ...], ...]) -> float:
    """Scale 1 of a picture by its set's rule, see SetSettings.base."""
    if rule == "fruit":
        return 1.0 / float(np.median([np.sqrt(fruit_area(f)) for f in fruit]))
    kind, _, number = rule.partition(":")
    if kind != "width":
        raise ValueError(f"base must be 'fruit' or 'width:N', got {rule!r}")
    return float(number) / width


def load_set(root: Path, settings: SetSettings) -> list[Picture]:
    """Training pictures of one set, without the held-out ones. Raises ValueError where a held-out name is absent."""
    coco = json.loads((root / settings.folder / settings.labels).read_text(encoding="utf-8"))
    held = {h.name for h in settings.held_out}
    absent = held - {i["file_name"] for i in coco["images"]}
    if absent:
        raise ValueError(f"{settings.folder}: held-out pictures that are not in {settings.labels}: {sorted(absent)}")
    pictures = []
    for info in coco["images"]:
        fruit = fruit_of(coco, info["id"], settings.categories)
        if info["file_name"] in held or not fruit:
            continue
        image = read_rgb(root / settings.folder / "images" / info["file_name"])
        pictures.append(Picture(info["file_name"], image, fruit, _base(settings.base, image.shape[1], fruit)))
    return pictures


def raster(polygons: Iterable[Polygon], height: int, width: int) -> Image:
    """Polygons filled into an H x W uint8 plane of 0 and 1."""
    plane = np.zeros((height, width), np.uint8)
    cv2.fillPoly(plane, [np.round(p).astype(np.int32) for p in polygons], 1)
    return plane


def cutouts(pictures: Iterable[Picture], least_px: float = 20.0) -> list[Cutout]:
    """Every fruit of at least ``least_px`` (root of the area) that its picture's border does not cut."""
    bank = []
    for picture in pictures:
        height, width = picture.image.shape[:2]
        for fruit in picture.fruit:
            points = np.concatenate(fruit)
            x0, y0 = np.floor(points.min(0)).astype(int)
            x1, y1 = np.ceil(points.max(0)).astype(int) + 1
            area = fruit_area(fruit)
            if x0 < 2 or y0 < 2 or x1 > width - 2 or y1 > height - 2 or np.sqrt(area) < least_px:
                continue
            shifted = [p - np.array([x0, y0], np.float32) for p in fruit]
            mask = raster(shifted, y1 - y0, x1 - x0)
            bank.append(Cutout(picture.image[y0:y1, x0:x1].copy(), mask, area))
    return bank
