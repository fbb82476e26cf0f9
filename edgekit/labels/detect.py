"""Read labels of any format that edgekit knows, told apart by what is in the file."""

from __future__ import annotations

from pathlib import Path

from edgekit.errors import LabelsError
from edgekit.labels.coco import parse_coco, read_json
from edgekit.labels.cvat import read_cvat
from edgekit.labels.labelme import read_labelme
from edgekit.labels.model import LabelSet
from edgekit.labels.via import read_via
from edgekit.labels.yolo import read_yolo


def read_labels(path: Path, *, images: Path | None = None, class_names: tuple[str, ...] = ()) -> LabelSet:
    """Read COCO, LabelMe, VIA (JSON), CVAT (XML), or a folder of LabelMe or YOLO-seg files.

    Args:
        path: a file or a folder.
        images: folder of the pictures; required for YOLO-seg and VIA, which store no sizes.
        class_names: order of the classes, for formats that have none; required for YOLO-seg.

    Raises:
        LabelsError: the path cannot be read, its format is not known, or pictures or class names are needed.
    """
    if path.is_dir():
        return _read_folder(path, images, class_names)
    if path.suffix.lower() == ".xml":
        return read_cvat(path)
    data = read_json(path)
    if isinstance(data, dict) and {"images", "annotations"} <= data.keys():
        return parse_coco(data, source=str(path), images=images)
    if isinstance(data, dict) and "shapes" in data:
        return read_labelme(path, images=images, class_names=class_names)
    if isinstance(data, dict) and ("_via_img_metadata" in data or _looks_like_via(data)):
        return read_via(path, images=_needed(images, path, "VIA"))
    if isinstance(data, list) and any(isinstance(item, dict) and "score" in item for item in data):
        mend = "name the labels here; results are the first word of `edgekit bench score RESULTS --data LABELS`"
        raise LabelsError(f"{path} holds results, no labels", mend=mend)
    raise LabelsError(f"{path} is no COCO, LabelMe or VIA file", mend="labels are read as one of these or CVAT (.xml)")


def _read_folder(path: Path, images: Path | None, class_names: tuple[str, ...]) -> LabelSet:
    if next(path.rglob("*.json"), None) is not None:
        return read_labelme(path, images=images, class_names=class_names)
    if next(path.rglob("*.txt"), None) is not None:
        if not class_names:
            raise LabelsError(f"YOLO labels in {path} have no class names", mend="give them in the order of data.yaml")
        return read_yolo(path, images=_needed(images, path, "YOLO"), class_names=class_names)
    raise LabelsError(f"{path} holds neither LabelMe (*.json) nor YOLO (*.txt) labels")


def _looks_like_via(data: dict[str, object]) -> bool:
    return bool(data) and all(isinstance(item, dict) and "regions" in item for item in data.values())


def _needed(images: Path | None, path: Path, format_name: str) -> Path:
    if images is None:
        raise LabelsError(f"{format_name} labels in {path} store no sizes", mend="give the folder of the pictures")
    return images
