"""A row from photographs: labelled pictures side by side, so that every fruit's place is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np

from edgekit.contracts import Image, MaskCrop
from edgekit.errors import SourceError
from edgekit.labels import LabelledInstance, LabelledPicture, LabelSet
from edgekit.masks import trim
from edgekit.runtime.sources.pictures import BrokenPictureError, read_picture


@dataclass(frozen=True, eq=False)
class PhotoRow:
    """A strip of real pictures and where its fruit are."""

    image: Image
    """H x W x 3: the pictures side by side."""
    instances: tuple[LabelledInstance, ...]
    """Fruit in strip pixels, from left to right by picture."""
    edges_px: tuple[int, ...]
    """First column of each picture, and the width of the strip."""


def photo_row(pictures: Sequence[Image], labels: Sequence[LabelledPicture], *, height_px: int = 0) -> PhotoRow:
    """Put pictures side by side, all scaled to one height.

    Args:
        pictures: N pictures, in the order of the row.
        labels: N pictures' labels.
        height_px: of the strip; 0: that of the lowest picture.

    Raises:
        ValueError: no pictures, or another number of labels.
    """
    if not pictures or len(pictures) != len(labels):
        raise ValueError(f"{len(pictures)} pictures and {len(labels)} labels")
    height_px = height_px or min(picture.shape[0] for picture in pictures)
    parts: list[Image] = []
    instances: list[LabelledInstance] = []
    edges = [0]
    for picture, label in zip(pictures, labels, strict=True):
        part = _scaled(picture, height_px)
        size_wh = (part.shape[1], part.shape[0])
        fruit = (_placed(item, label.size_wh, size_wh, edges[-1]) for item in label.instances)
        instances += [item for item in fruit if item.mask.plane.size]
        parts.append(part)
        edges.append(edges[-1] + part.shape[1])
    return PhotoRow(np.concatenate(parts, axis=1), tuple(instances), tuple(edges))


def load_photo_row(labels: LabelSet, images: Path, *, names: Sequence[str] = (), height_px: int = 0) -> PhotoRow:
    """A photo row from a folder of pictures and their labels.

    Args:
        labels: as read by `edgekit.labels`.
        images: folder of the pictures.
        names: pictures to take, in this order; by default all of them.
        height_px: of the strip; 0: that of the lowest picture.

    Raises:
        SourceError: a picture cannot be read.
        LabelsError: a name that the labels do not hold.
    """
    chosen = [labels.picture(name) for name in names] if names else list(labels.pictures)
    return photo_row([_read(images / picture.name) for picture in chosen], chosen, height_px=height_px)


def _read(path: Path) -> Image:
    try:
        return read_picture(path)
    except BrokenPictureError as error:
        raise SourceError(f"cannot use {path} in a photo row: {error}") from error


def _scaled(picture: Image, height_px: int) -> Image:
    if picture.shape[0] == height_px:
        return picture
    width_px = round(picture.shape[1] * height_px / picture.shape[0])
    shrinks = height_px < picture.shape[0]
    how = cv2.INTER_AREA if shrinks else cv2.INTER_CUBIC
    return np.asarray(cv2.resize(picture, (width_px, height_px), interpolation=how), np.uint8)


def _placed(
    item: LabelledInstance, from_wh: tuple[int, int], to_wh: tuple[int, int], offset_px: int
) -> LabelledInstance:
    """The fruit in strip pixels."""
    if from_wh == to_wh:
        return replace(item, mask=item.mask.shifted(offset_px, 0), box_xyxy=_moved(item.box_xyxy, 1.0, offset_px))
    plane = np.zeros((from_wh[1], from_wh[0]), np.uint8)
    rows, columns = item.mask.plane.shape
    plane[item.mask.y_px : item.mask.y_px + rows, item.mask.x_px : item.mask.x_px + columns] = item.mask.plane
    small = cv2.resize(plane * 255, to_wh, interpolation=cv2.INTER_AREA) >= 128
    mask = trim(MaskCrop(small, offset_px, 0))
    return replace(item, mask=mask, box_xyxy=_moved(item.box_xyxy, to_wh[1] / from_wh[1], offset_px))


def _moved(box_xyxy: np.ndarray, scale: float, offset_px: int) -> np.ndarray:
    shift = np.array([offset_px, 0, offset_px, 0], np.float32)
    return np.asarray(box_xyxy * np.float32(scale) + shift, np.float32)
