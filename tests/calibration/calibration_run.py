"""A run folder with known fruit, and a person who labels them without a mistake."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgekit.contracts import Columns, Instances, MaskCrop, TileResult
from edgekit.labels import LabelledInstance, LabelledPicture, LabelSet
from edgekit.masks import bounds_xyxy, iou
from edgekit.runtime.panorama.segments import SegmentWriter
from edgekit.store import MergedFruit, PanoramaShape, RunFolder, RunPlan, RunRecorder, SourcePlan
from edgekit.tiles import TileSettings, plan_tiles

SIZE_PX = 96
RADIUS_PX = 12
MODEL_ID = "c" * 64


@dataclass(frozen=True, eq=False)
class Field:
    """The run and its truth."""

    run: Path
    truth: dict[str, tuple[LabelledInstance, ...]]
    """Fruit of each tile, by the tile's name."""


def make_run(folder: Path, *, seed: int = 0, columns: int = 20, rows: int = 2) -> Field:
    """Two rows of panorama, 3 tiles high; every fruit has a prediction whose error falls with its confidence."""
    rng = np.random.default_rng(seed)
    names = ["fruit"]
    model = {"class_names": names, "score_floor": 0.05, "model": "yolo11", "precision": "fp32"}
    sources = tuple(SourcePlan(f"row{number}", "panorama", str(number)) for number in range(rows))
    run_folder = RunFolder(folder)
    folder.mkdir(parents=True)
    recorder = RunRecorder(run_folder.database)
    run_id = recorder.begin(RunPlan(model, MODEL_ID, {}, 0.5, "option --threshold", sources))
    truth: dict[str, tuple[LabelledInstance, ...]] = {}
    size_wh = (columns * SIZE_PX, 3 * SIZE_PX)
    for source in recorder.reader.sources():
        image = rng.integers(0, 255, (size_wh[1], size_wh[0], 3)).astype(np.uint8)
        writer = SegmentWriter(run_folder.segments(source.number), width_px=512)
        writer.add(Columns(image, 0))
        index = writer.finish()
        merged = []
        for spec in plan_tiles(size_wh, TileSettings(size_px=SIZE_PX, overlap_px=0)):
            fruit, found = _tile(rng)
            truth[f"row{source.number:03d}_tile{spec.number:06d}.png"] = fruit
            recorder.add_tiles(source.id, [(spec, TileResult(found, len(found)))])
            merged.append(found.shifted(spec.x_px, spec.y_px))
        recorder.close_source(source.id, PanoramaShape(0, size_wh, len(index.files), 1))
        joined = Instances.concatenate(merged)
        recorder.put_fruit(source.id, MergedFruit(joined, (False,) * len(joined), (1,) * len(joined)))
    recorder.finish(run_id)
    recorder.close()
    return Field(folder, truth)


def label_all(field: Field, names: list[str]) -> LabelSet:
    """Every fruit of these tiles."""
    size = (SIZE_PX, SIZE_PX)
    return LabelSet(tuple(LabelledPicture(name, size, field.truth[name]) for name in names), ("fruit",))


def label_marks(field: Field, marks: dict[str, Instances]) -> LabelSet:
    """Only the fruit that a marked prediction overlaps."""
    pictures = []
    for name, found in marks.items():
        drawn = [item for item in field.truth[name] if any(iou(mask, item.mask) > 0 for mask in found.masks)]
        pictures.append(LabelledPicture(name, (SIZE_PX, SIZE_PX), tuple(drawn)))
    return LabelSet(tuple(pictures), ("fruit",))


def disc(x: float, y: float) -> MaskCrop:
    rows, columns = np.mgrid[: 2 * RADIUS_PX + 2, : 2 * RADIUS_PX + 2]
    left, top = int(x) - RADIUS_PX, int(y) - RADIUS_PX
    plane = (columns + left - x) ** 2 + (rows + top - y) ** 2 <= RADIUS_PX**2
    return MaskCrop(plane, left, top)


def _tile(rng: np.random.Generator) -> tuple[tuple[LabelledInstance, ...], Instances]:
    """Fruit on a 2 x 2 grid of places; a fifth of the predictions are false alarms."""
    spots = [(28, 28), (68, 28), (28, 68), (68, 68)]
    fruit, masks, scores = [], [], []
    for x, y in spots[: rng.integers(1, 5)]:
        score = float(rng.uniform(0.05, 0.99))
        away = max(0.0, (1.05 - score) * 12 + rng.normal(0, 2))
        angle = rng.uniform(0, 2 * np.pi)
        masks.append(disc(x + away * np.cos(angle), y + away * np.sin(angle)))
        scores.append(score)
        if rng.uniform() < 0.8 or score > 0.6:
            mask = disc(x, y)
            fruit.append(LabelledInstance(str(len(fruit) + 1), "fruit", mask, bounds_xyxy(mask), area_px=mask.area_px))
    order = np.argsort(-np.array(scores), kind="stable")
    masks = [masks[i] for i in order]
    found = Instances(
        np.stack([bounds_xyxy(mask) for mask in masks]),
        np.array(scores, np.float32)[order],
        np.zeros(len(masks), np.int32),
        tuple(masks),
    )
    return tuple(fruit), found
