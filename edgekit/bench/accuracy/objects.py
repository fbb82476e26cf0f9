"""Labels and predictions of a whole data set as columns: what every accuracy figure is computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from edgekit.contracts import Instances, MaskCrop
from edgekit.errors import LabelsError
from edgekit.labels import LabelSet

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]

EVERY_CLASS = -1
"""Class of an ignored region that holds for all classes."""


@dataclass(frozen=True, eq=False)
class Truth:
    """The labels of N objects in P pictures, in the order of the pictures."""

    picture_names: tuple[str, ...]
    sizes_wh: tuple[tuple[int, int], ...]
    class_names: tuple[str, ...]
    """The classes that are scored."""
    picture: Ints
    """N: index of the object's picture."""
    label: Ints
    """N: class index, or `EVERY_CLASS`."""
    boxes_xyxy: Floats
    """N x 4, pixels."""
    masks: tuple[MaskCrop, ...]
    areas_px: Floats
    """N: area that COCO sorts into small, medium and large by."""
    crowd: Bools
    """N: regions of many objects; a prediction is inside where it lies in them, whatever their size."""
    ignore: Bools
    """N: crowds and ignored objects; they need not be found, and what matches them is no false alarm."""
    attributes: tuple[Mapping[str, str], ...]
    has_outlines: bool
    """False where an object has a box only: mask figures are then left out."""

    def __len__(self) -> int:
        return len(self.masks)

    @cached_property
    def mask_areas_px(self) -> Floats:
        """N: pixels of each mask."""
        return np.array([mask.area_px for mask in self.masks], np.float64)

    @cached_property
    def counted(self) -> int:
        """Objects that must be found."""
        return int(np.count_nonzero(~self.ignore))


@dataclass(frozen=True, eq=False)
class Predictions:
    """The predictions of N objects in the same P pictures, in the order of the pictures, else in the order given."""

    picture: Ints
    """N: index of the picture in `Truth.picture_names`."""
    label: Ints
    """N: class index in `Truth.class_names`."""
    boxes_xyxy: Floats
    """N x 4, pixels."""
    scores: Floats
    """N, as full as they were given."""
    masks: tuple[MaskCrop, ...] | None
    """None where only boxes were predicted."""

    def __len__(self) -> int:
        return len(self.scores)

    @cached_property
    def mask_areas_px(self) -> Floats:
        """N: pixels of each mask; zeros where there are none."""
        return np.array([mask.area_px for mask in self.masks], np.float64) if self.masks else np.zeros(len(self))

    @cached_property
    def order(self) -> Ints:
        """Rows by score, highest first; ties in the order of pictures and rows, as COCO does."""
        return np.argsort(-self.scores, kind="stable")

    @cached_property
    def rank(self) -> Ints:
        """Place of each row in `order`."""
        rank = np.empty(len(self), np.intp)
        rank[self.order] = np.arange(len(self))
        return rank


def truth_from_labels(
    labels: LabelSet,
    class_names: Sequence[str],
    class_of: Mapping[str, int],
    *,
    any_class: frozenset[str] = frozenset(),
) -> Truth:
    """Columns of a label set.

    Args:
        labels: what was read.
        class_names: the classes that are scored.
        class_of: label class -> index in `class_names`, see `edgekit.labels.match_classes`.
        any_class: label classes whose objects are ignored regions for every class: what is predicted in them is
            neither right nor wrong, as with crowds.
    """
    rows = [(index, item) for index, picture in enumerate(labels.pictures) for item in picture.instances]
    numbers = [EVERY_CLASS if item.class_name in any_class else class_of[item.class_name] for _, item in rows]
    ignore = [item.ignore or item.is_crowd or item.class_name in any_class for _, item in rows]
    return Truth(
        tuple(picture.name for picture in labels.pictures),
        tuple(picture.size_wh for picture in labels.pictures),
        tuple(class_names),
        np.array([index for index, _ in rows], np.intp),
        np.array(numbers, np.intp),
        np.array([item.box_xyxy for _, item in rows], np.float64).reshape(-1, 4),
        tuple(item.mask for _, item in rows),
        np.array([item.area_px for _, item in rows], np.float64),
        np.array([item.is_crowd or item.class_name in any_class for _, item in rows], np.bool_),
        np.array(ignore, np.bool_),
        tuple(item.attributes for _, item in rows),
        all(item.has_outline or item.ignore or item.is_crowd for _, item in rows),
    )


def predictions_from_instances(found: Sequence[Instances]) -> Predictions:
    """Columns of what a model found, a set a picture, in the order of the pictures."""
    everything = Instances.concatenate(found)
    return Predictions(
        np.repeat(np.arange(len(found)), [len(item) for item in found]),
        everything.labels.astype(np.intp),
        everything.boxes_xyxy.astype(np.float64),
        everything.scores.astype(np.float64),
        everything.masks,
    )


def require_fit(truth: Truth, predictions: Predictions) -> None:
    """Check that predictions belong to these labels.

    Raises:
        LabelsError: a picture or a class that the labels do not have, or a score that is not a finite number.
    """
    if len(predictions) and predictions.picture.max() >= len(truth.picture_names):
        raise LabelsError(f"predictions for picture {int(predictions.picture.max())} of {len(truth.picture_names)}")
    if len(predictions) and not 0 <= predictions.label.min() <= predictions.label.max() < len(truth.class_names):
        raise LabelsError(f"a prediction of a class that is not among {', '.join(truth.class_names)}")
    if not np.isfinite(predictions.scores).all():
        raise LabelsError("a prediction whose score is not a finite number", mend="find out what wrote it")
