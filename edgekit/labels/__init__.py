"""Labels: readers and writers of COCO, LabelMe, CVAT, YOLO-seg and VIA, all with one result type."""

from edgekit.labels.classes import match_classes, parse_class_map, require_class_map
from edgekit.labels.coco import parse_coco, read_coco
from edgekit.labels.coco_write import coco_dict, write_coco
from edgekit.labels.cvat import read_cvat
from edgekit.labels.detect import read_labels
from edgekit.labels.ignore_masks import IGNORED_REGION, add_ignore_masks
from edgekit.labels.labelme import read_labelme
from edgekit.labels.model import (
    LabelledInstance,
    LabelledPicture,
    LabelSet,
    OddAnnotation,
    picture_from_instances,
)
from edgekit.labels.tool_write import write_cvat, write_labelme, write_via, write_yolo
from edgekit.labels.trace import outlines
from edgekit.labels.via import read_via
from edgekit.labels.yolo import read_yolo

__all__ = [
    "IGNORED_REGION",
    "LabelSet",
    "LabelledInstance",
    "LabelledPicture",
    "OddAnnotation",
    "add_ignore_masks",
    "coco_dict",
    "match_classes",
    "outlines",
    "parse_class_map",
    "parse_coco",
    "picture_from_instances",
    "read_coco",
    "read_cvat",
    "read_labelme",
    "read_labels",
    "read_via",
    "read_yolo",
    "require_class_map",
    "write_coco",
    "write_cvat",
    "write_labelme",
    "write_via",
    "write_yolo",
]
