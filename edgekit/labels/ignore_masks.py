"""Regions that nobody judges, drawn as a mask picture beside each picture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePosixPath
from types import MappingProxyType

import numpy as np

from edgekit.contracts import MaskCrop
from edgekit.errors import LabelsError
from edgekit.labels.collect import PICTURE_SUFFIXES
from edgekit.labels.model import LabelledInstance, LabelledPicture, LabelSet
from edgekit.masks import bounds_xyxy, trim

IGNORED_REGION = "ignored region"
"""Class of the regions; it holds for all classes."""


def add_ignore_masks(labels: LabelSet, folder: Path) -> LabelSet:
    """The same labels with an ignored region for each picture that has a mask: every pixel that is not black.

    Args:
        labels: what was labelled.
        folder: mask pictures, named and laid out as the pictures are, in any picture format.

    Raises:
        LabelsError: a mask of another size than its picture, or a folder without one for any picture.
    """
    pictures = [_with_region(picture, _find(folder, picture.name)) for picture in labels.pictures]
    if all(new is old for new, old in zip(pictures, labels.pictures, strict=True)):
        raise LabelsError(f"no mask in {folder} has the name of a picture", mend="name masks as their pictures")
    names = tuple(name for name in labels.class_names if name != IGNORED_REGION)
    ids = (*labels.class_ids, max(labels.class_ids) + 1) if labels.class_ids else ()
    return replace(labels, pictures=tuple(pictures), class_names=(*names, IGNORED_REGION), class_ids=ids)


def _with_region(picture: LabelledPicture, file: Path | None) -> LabelledPicture:
    import cv2

    if file is None:
        return picture
    plane = cv2.imdecode(np.fromfile(file, np.uint8), cv2.IMREAD_GRAYSCALE)
    if plane is None or (plane.shape[1], plane.shape[0]) != picture.size_wh:
        raise LabelsError(f"mask {file} is no picture of {picture.size_wh[0]} x {picture.size_wh[1]}")
    mask = trim(MaskCrop(plane > 0, 0, 0))
    if not mask.plane.size:
        return picture
    region = LabelledInstance(
        f"{file.name}", IGNORED_REGION, mask, bounds_xyxy(mask).astype(np.float64), is_crowd=True, ignore=True,
        attributes=MappingProxyType({}), area_px=float(mask.area_px),
    )  # fmt: skip
    return replace(picture, instances=(*picture.instances, region))


def _find(folder: Path, name: str) -> Path | None:
    stem = folder / PurePosixPath(name).with_suffix("")
    candidates = (stem.with_name(stem.name + suffix) for suffix in (".png", *PICTURE_SUFFIXES))
    return next((path for path in candidates if path.is_file()), None)
