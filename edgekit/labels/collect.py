"""What every reader does alike: gather objects, note what is odd, and find the size of a picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from edgekit.contracts import MaskCrop
from edgekit.errors import LabelsError
from edgekit.labels.model import WHOLE_FILE, Action, LabelledInstance, OddAnnotation
from edgekit.labels.outline import Points, polygons_mask, reaches_outside
from edgekit.masks import bounds_xyxy, clip, trim, union

PICTURE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp")


@dataclass
class OddLog:
    """Notes of one reading."""

    entries: list[OddAnnotation] = field(default_factory=list)

    def note(self, annotation_id: str, picture: str | None, action: Action, reason: str) -> None:
        """Add one remark."""
        self.entries.append(OddAnnotation(annotation_id, picture, action, reason))

    def note_file(self, action: Action, reason: str) -> None:
        """Add a remark that concerns the whole file."""
        self.note(WHOLE_FILE, None, action, reason)


@dataclass(frozen=True)
class Drawn:
    """An object as it was drawn, before it is a mask."""

    id: str
    class_name: str
    polygons: tuple[Points, ...] = ()
    masks: tuple[MaskCrop, ...] = ()
    """Parts that came as pixels."""
    has_outline: bool = True
    ignore: bool = False
    is_crowd: bool = False
    attributes: Mapping[str, str] = field(default_factory=dict)


def finish(drawn: Drawn, picture: str, size_wh: tuple[int, int], log: OddLog) -> LabelledInstance | None:
    """The object as a mask; None, with a note, where that cannot be."""
    empty = 0
    try:
        parts = [trim(clip(mask, 0, 0, *size_wh)) for mask in drawn.masks]
        if drawn.polygons:
            outlined, empty = polygons_mask(drawn.polygons, size_wh)
            parts.append(outlined)
        mask = union(parts) if len(parts) > 1 else parts[0]
        if not mask.plane.size:
            raise LabelsError("an object without a pixel in the picture")
    except LabelsError as error:
        log.note(drawn.id, picture, "refused", error.what)
        return None
    if empty:
        log.note(drawn.id, picture, "mended", f"{empty} of {len(drawn.polygons)} parts have no pixel: left out")
    if any(reaches_outside(points, size_wh) for points in drawn.polygons):
        log.note(drawn.id, picture, "mended", "partly outside the picture: clipped")
    box_xyxy = bounds_xyxy(mask).astype(np.float64)
    return LabelledInstance(
        drawn.id, drawn.class_name, mask, box_xyxy, drawn.has_outline, drawn.is_crowd, drawn.ignore,
        drawn.attributes, float(mask.area_px),
    )  # fmt: skip


def join_groups(drawn: Iterable[tuple[Drawn, str | None]], picture: str, log: OddLog) -> list[Drawn]:
    """Make one object of those that share class and group; objects without a group (None) stay alone."""
    joined: dict[tuple[str, str], Drawn] = {}
    for position, (item, group) in enumerate(drawn):
        key = (item.class_name, f"group {group}" if group is not None else f"alone {position}")
        first = joined.get(key)
        if first is None:
            joined[key] = item
            continue
        log.note(item.id, picture, "kept", f"part of annotation {first.id}: same class and group")
        joined[key] = Drawn(
            first.id, first.class_name, first.polygons + item.polygons, first.masks + item.masks,
            first.has_outline and item.has_outline, first.ignore or item.ignore, first.is_crowd or item.is_crowd,
            {**item.attributes, **first.attributes},
        )  # fmt: skip
    return list(joined.values())


def picture_name(text: str) -> str:
    """A picture's name with forward slashes, without a leading `./`: labelling tools on Windows write backslashes."""
    name = text.replace("\\", "/")
    return name[2:] if name.startswith("./") else name


def picture_size(path: Path) -> tuple[int, int]:
    """Width and height of a picture file, turned upright as OpenCV does.

    Raises:
        LabelsError: the file cannot be read.
    """
    import cv2

    data = np.fromfile(path, np.uint8) if path.is_file() else np.zeros(0, np.uint8)
    plane = cv2.imdecode(data, cv2.IMREAD_GRAYSCALE) if len(data) else None
    if plane is None:
        raise LabelsError(f"the size of picture {path} is not in the labels and the file cannot be read",
                          mend="give the folder of the pictures")  # fmt: skip
    height, width = plane.shape[:2]
    return width, height


def list_pictures(folder: Path) -> list[Path]:
    """Every picture under a folder, by name."""
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in PICTURE_SUFFIXES)


def ordered_names(used: Iterable[str], declared: Iterable[str] = ()) -> tuple[str, ...]:
    """Declared names in their order, then those that were used undeclared, sorted: stable whatever the file order."""
    first = tuple(dict.fromkeys(declared))
    return first + tuple(sorted(set(used) - set(first)))
