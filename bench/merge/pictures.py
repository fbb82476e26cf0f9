"""The pictures of the merge study and what a model says of their tiles, kept on disk so that the study repeats fast."""

from __future__ import annotations

import contextlib
import hashlib
import io
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import cv2
import numpy as np
from pycocotools.coco import COCO

from edgekit.contracts import Image, Instances, MaskCrop, Segmenter, TileSpec
from edgekit.masks import CocoRle, decode
from edgekit.tiles import cut_tile

BATCH = 8
"""Tiles a call of the segmenter."""


@dataclass(frozen=True)
class Picture:
    """One picture of a set."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    def labels(self) -> tuple[MaskCrop, ...]:
        """The labelled fruit, all classes as one."""
        return labels_of(self.path.parents[1] / "instances.json")[self.path.name]

    def read(self) -> Image:
        return np.ascontiguousarray(cv2.imread(str(self.path), cv2.IMREAD_COLOR)[:, :, ::-1])


@cache
def labels_of(path: Path) -> dict[str, tuple[MaskCrop, ...]]:
    """Labelled masks by picture."""
    with contextlib.redirect_stdout(io.StringIO()):
        told = COCO(str(path))
    found = {}
    for image in told.dataset["images"]:
        masks = (decode(encoded(told.annToRLE(label))) for label in told.imgToAnns[image["id"]])
        found[Path(image["file_name"]).name] = tuple(masks)
    return found


def encoded(rle: dict) -> CocoRle:
    return {"size": rle["size"], "counts": rle["counts"].decode("ascii")}


def pictures_of(folders: Sequence[Path]) -> list[Picture]:
    """The pictures in `images/` of each folder; only those that its `val.txt` names, where there is one."""
    found = []
    for folder in folders:
        chosen = folder / "val.txt"
        names = set(chosen.read_text().split()) if chosen.exists() else None
        paths = sorted((folder / "images").iterdir())
        found += [Picture(path) for path in paths if names is None or path.name in names]
    return found


class TileDetections:
    """Detections of a model by tile, each tile segmented once over all grids.

    Args:
        segmenter: the model.
        cache: folder that keeps them; the model's id is part of the file names.
    """

    def __init__(self, segmenter: Segmenter, cache: Path) -> None:
        self._segmenter = segmenter
        self._folder = cache / hashlib.sha256(segmenter.info.model_id.encode()).hexdigest()[:12]
        self._folder.mkdir(parents=True, exist_ok=True)
        self._read: dict[Path, dict[tuple[int, int], Instances]] = {}

    def of(self, picture: Picture, specs: Sequence[TileSpec]) -> list[Instances]:
        """The detections of each tile of a picture, in tile pixels."""
        kept_in = self._folder / f"{picture.name}.pickle"
        if kept_in not in self._read:
            self._read[kept_in] = pickle.loads(kept_in.read_bytes()) if kept_in.exists() else {}
        known = self._read[kept_in]
        missing = [spec for spec in specs if (spec.x_px, spec.y_px) not in known]
        if missing:
            image = picture.read()
            for start in range(0, len(missing), BATCH):
                batch = missing[start : start + BATCH]
                results = self._segmenter.segment(np.stack([cut_tile(image, spec) for spec in batch]))
                for spec, result in zip(batch, results, strict=True):
                    known[spec.x_px, spec.y_px] = result.instances
            kept_in.write_bytes(pickle.dumps(known))
        return [known[spec.x_px, spec.y_px] for spec in specs]
