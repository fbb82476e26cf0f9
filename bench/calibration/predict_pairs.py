r"""Pairs of confidence and mask IoU of a model on a labelled set: the table that every study here starts from.

    python bench/calibration/predict_pairs.py MODEL.onnx SET --out pairs.csv

SET is a folder with `images/` and `instances.json` (COCO). Pictures larger than a tile are cut without overlap, and
labels are cut with them. Columns: confidence, iou, tile, unit (the picture, or what the pattern says: several tiles of
tomato_val_tiles come from one picture, --unit-pattern '(.*)_\d+_\d+_\d+.jpg'), label (id of the best label, empty where
there is none), labels (number of labels in the tile).
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from edgekit.calibration.pairing import best_label
from edgekit.contracts import Image, Segmenter, TileSpec
from edgekit.labels import LabelledInstance, LabelledPicture, read_coco
from edgekit.masks import clip, trim
from edgekit.segment import open_segmenter
from edgekit.segment.settings import SegmenterSettings
from edgekit.tiles import TileSettings, cut_tile, plan_tiles

VISIBLE_SHARE = 0.15
"""A label is kept in a tile with this share of its pixels and VISIBLE_PX: the rule of tomato_val_tiles."""
VISIBLE_PX = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("set", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--unit-pattern", default="(.*)", help="group 1 in a picture's name is the unit")
    parser.add_argument("--long-side", type=int, help="resize pictures to this long side first")
    arguments = parser.parse_args()
    segmenter = open_segmenter(arguments.model, settings=SegmenterSettings(threads=1))
    labels = read_coco(arguments.set / "instances.json", images=arguments.set / "images")
    with arguments.out.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["confidence", "iou", "tile", "unit", "label", "labels"])
        for picture in labels.pictures:
            unit = re.fullmatch(arguments.unit_pattern, picture.name)
            if unit is None:
                parser.error(f"the pattern does not fit {picture.name}")
            rows = pairs_of_picture(segmenter, picture, arguments.set / "images", arguments.long_side)
            table.writerows((*row[:3], unit.group(1), *row[3:]) for row in rows)
    print(arguments.out)


def pairs_of_picture(
    segmenter: Segmenter, picture: LabelledPicture, folder: Path, long_side_px: int | None
) -> Iterator[tuple[object, ...]]:
    """Rows of one picture, a tile after the other."""
    image = cv2.cvtColor(cv2.imread(str(folder / picture.name)), cv2.COLOR_BGR2RGB)
    instances = list(picture.instances)
    if long_side_px and long_side_px != max(image.shape[:2]):
        image, instances = shrink(image, instances, long_side_px / max(image.shape[:2]))
    settings = TileSettings(size_px=segmenter.info.tile_size_px, overlap_px=0)
    specs = plan_tiles((image.shape[1], image.shape[0]), settings)
    results = segmenter.segment(np.stack([cut_tile(image, spec) for spec in specs]))
    for spec, result in zip(specs, results, strict=True):
        seen = labels_in_tile(instances, spec)
        for score, mask in zip(result.instances.scores, result.instances.masks, strict=True):
            value, owner = best_label(mask, seen)
            name = owner.id if owner else ""
            yield float(score), value, f"{picture.name}@{spec.number}", name, len(seen)


def shrink(image: Image, instances: list[LabelledInstance], scale: float) -> tuple[Image, list[LabelledInstance]]:
    """The picture and its masks at another scale."""
    small = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    size_wh = (small.shape[1], small.shape[0])
    return small, [replace(item, mask=_resized(item, image.shape[:2], size_wh)) for item in instances]


def _resized(item: LabelledInstance, shape: tuple[int, ...], size_wh: tuple[int, int]):  # noqa: ANN202
    plane = np.zeros(shape, np.uint8)
    height, width = item.mask.plane.shape
    plane[item.mask.y_px : item.mask.y_px + height, item.mask.x_px : item.mask.x_px + width] = item.mask.plane
    small = cv2.resize(plane * 255, size_wh, interpolation=cv2.INTER_AREA) >= 128
    return trim(type(item.mask)(small, 0, 0))


def labels_in_tile(instances: list[LabelledInstance], spec: TileSpec) -> list[LabelledInstance]:
    """Labels cut to the tile, in tile pixels; slivers are dropped."""
    found = []
    for item in instances:
        cut = clip(item.mask.shifted(-spec.x_px, -spec.y_px), 0, 0, spec.size_px, spec.size_px)
        if cut.area_px >= max(VISIBLE_PX, VISIBLE_SHARE * item.mask.area_px):
            found.append(replace(item, mask=cut))
    return found


if __name__ == "__main__":
    main()
