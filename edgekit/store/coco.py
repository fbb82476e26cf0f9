"""Fruit as COCO results on the panoramas, and the pictures and categories that COCO's tools need beside them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypedDict

from edgekit.masks import CocoRle, encode
from edgekit.store.records import MergedFruit, StoredSource


class CocoResult(TypedDict):
    """One object of a results file.

    There is no `bbox`: with one, pycocotools takes the area from the box instead of from the mask.
    """

    image_id: int
    category_id: int
    segmentation: CocoRle
    score: float


class CocoImage(TypedDict):
    """One picture of a dataset file."""

    id: int
    file_name: str
    width: int
    height: int


class CocoDataset(TypedDict):
    """What `pycocotools.coco.COCO` opens; it has no annotations, since nobody labelled the panorama."""

    info: dict[str, str]
    images: list[CocoImage]
    annotations: list[object]
    categories: list[dict[str, object]]


def coco_results(source: StoredSource, fruit: MergedFruit) -> list[CocoResult]:
    """The fruit of one source; plain JSON types, scores in full."""
    found = fruit.instances
    return [
        {
            "image_id": image_id(source),
            "category_id": category_id(label),
            "segmentation": encode(mask, source.size_wh),
            "score": score,
        }
        for mask, label, score in zip(found.masks, found.labels.tolist(), found.scores.tolist(), strict=True)
    ]


def coco_dataset(sources: Sequence[StoredSource], class_names: Sequence[str]) -> CocoDataset:
    """One picture for each source, in its panorama's size, and a category for each class of the model."""
    return {
        "info": {"description": "panoramas of an edgekit run; fruit.coco.json holds the results on them"},
        "images": [
            {"id": image_id(source), "file_name": source.path, "width": source.size_wh[0], "height": source.size_wh[1]}
            for source in sources
        ],
        "annotations": [],
        "categories": [{"id": category_id(label), "name": name} for label, name in enumerate(class_names)],
    }


def image_id(source: StoredSource) -> int:
    """COCO's number of a source's panorama: from 1, in the order of the command line."""
    return source.number + 1


def category_id(label: int) -> int:
    """COCO's number of a class: from 1, since several COCO tools take 0 for the background."""
    return label + 1


def to_json(data: object) -> bytes:
    """JSON as edgekit writes it: numbers in full, no NaN, an object of a list on a line of its own."""
    if isinstance(data, list):
        lines = ",\n".join(json.dumps(item, ensure_ascii=False, allow_nan=False) for item in data)
        return f"[\n{lines}\n]\n".encode() if data else b"[]\n"
    return (json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
