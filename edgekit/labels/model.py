"""What a label file says, whatever its format: pictures, classes by name, objects as crops, and what was odd."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Literal

import numpy as np
import numpy.typing as npt

from edgekit.contracts import Instances, MaskCrop
from edgekit.errors import LabelsError
from edgekit.masks import trim

Action = Literal["kept", "mended", "refused"]
"""What became of an odd annotation: taken as it is, taken after a repair, or left out."""

WHOLE_FILE = "*"
"""Annotation id of a remark that concerns the whole file."""


@dataclass(frozen=True)
class OddAnnotation:
    """One annotation that is not as the format wants it, and what became of it."""

    annotation_id: str
    """Id in the file, or `file#position` where the format has no ids; `*` for the whole file."""
    picture: str | None
    """Name of its picture; None where it belongs to none."""
    action: Action
    reason: str

    def __str__(self) -> str:
        place = f" of {self.picture}" if self.picture else ""
        return f"annotation {self.annotation_id}{place} {self.action}: {self.reason}"


@dataclass(frozen=True, eq=False)
class LabelledInstance:
    """One labelled object."""

    id: str
    """Id in the file, as text."""
    class_name: str
    mask: MaskCrop
    """In picture pixels, trimmed. A rectangle where only a box was drawn."""
    box_xyxy: npt.NDArray[np.float64]
    """float64, 4, as the file has it (IoU near a threshold suffers no rounding), else the bounds of the mask."""
    has_outline: bool = True
    """False where only a box was drawn, so that mask figures mean little."""
    is_crowd: bool = False
    """A region of many objects: what is predicted in it is neither right nor wrong."""
    ignore: bool = False
    """An object that need not be found and that is no false alarm."""
    attributes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Further properties in the file, such as occlusion, as text."""
    area_px: float = 0.0
    """Area that the file states (COCO sorts objects into small, medium and large by it), else that of the mask."""
    score: float | None = None
    """Confidence, where a model proposed the object; None where a person drew it."""


@dataclass(frozen=True, eq=False)
class LabelledPicture:
    """One picture and its objects, in the order of the file."""

    name: str
    """File name relative to the folder of pictures, with forward slashes."""
    size_wh: tuple[int, int]
    instances: tuple[LabelledInstance, ...] = ()
    id: int | None = None
    """Number of the picture in a COCO file; None in formats without one."""


@dataclass(frozen=True, eq=False)
class LabelSet:
    """Everything that was read from a label file or folder."""

    pictures: tuple[LabelledPicture, ...]
    class_names: tuple[str, ...]
    """Declared classes in the order of the file (COCO: of their ids), used or not."""
    odd: tuple[OddAnnotation, ...] = ()
    class_ids: tuple[int, ...] = ()
    """Category numbers of a COCO file, in the order of `class_names`; empty in other formats."""
    source: str = ""
    """Path that was read, for messages."""

    @cached_property
    def by_name(self) -> Mapping[str, LabelledPicture]:
        """Pictures by name."""
        return MappingProxyType({picture.name: picture for picture in self.pictures})

    @cached_property
    def used_class_names(self) -> tuple[str, ...]:
        """The declared classes that at least one object has."""
        used = {instance.class_name for picture in self.pictures for instance in picture.instances}
        return tuple(name for name in self.class_names if name in used)

    @property
    def instance_count(self) -> int:
        """Number of objects in all pictures."""
        return sum(len(picture.instances) for picture in self.pictures)

    @property
    def refused(self) -> tuple[OddAnnotation, ...]:
        """The annotations that were left out."""
        return tuple(odd for odd in self.odd if odd.action == "refused")

    def picture(self, name: str) -> LabelledPicture:
        """The picture of that name.

        Raises:
            LabelsError: there is none.
        """
        found = self.by_name.get(name)
        if found is None:
            raise LabelsError(
                f"{self.source or 'the labels'} hold no picture {name!r}", mend="name one that is labelled"
            )
        return found

    def with_ignored_classes(self, names: Iterable[str]) -> LabelSet:
        """The same labels with every object of these classes marked `ignore`.

        Raises:
            LabelsError: a class that is not declared.
        """
        wanted = set(names)
        unknown = sorted(wanted - set(self.class_names))
        if unknown:
            known = ", ".join(self.class_names)
            raise LabelsError(f"no class {', '.join(unknown)} in {self.source or 'the labels'}", mend=f"it has {known}")
        pictures = tuple(
            replace(picture, instances=tuple(
                replace(item, ignore=True) if item.class_name in wanted else item for item in picture.instances
            ))
            for picture in self.pictures
        )  # fmt: skip
        return replace(self, pictures=pictures)


def picture_from_instances(
    name: str, size_wh: tuple[int, int], instances: Instances, class_names: Sequence[str]
) -> LabelledPicture:
    """What a model found in a picture, as labels that a person can go on with; ids count from 1."""
    found = tuple(
        LabelledInstance(
            str(number),
            class_names[int(label)],
            trim(mask),
            box.astype(np.float64),
            area_px=float(mask.area_px),
            score=float(score),
        )
        for number, (box, score, label, mask) in enumerate(
            zip(instances.boxes_xyxy, instances.scores, instances.labels, instances.masks, strict=True), 1
        )
    )
    return LabelledPicture(name, size_wh, found)
