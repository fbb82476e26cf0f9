"""What a reduced graph loses against labels: mask AP of both graphs on the same labelled pictures.

Pictures are cut into tiles and merged as they are when the model is deployed, so that the figures are those of fruit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from edgekit.contracts import Instances, Progress, Segmenter, no_progress
from edgekit.errors import LabelsError
from edgekit.export.pictures import read_picture
from edgekit.export.refused import MENDS, RefusedError
from edgekit.labels import LabelSet, coco_dict, match_classes, read_labels
from edgekit.masks.batch import encode_many
from edgekit.segment import open_segmenter
from edgekit.tiles import MergeSettings, TileSettings, cut_tile, merge, plan_tiles

OVERLAP_PX = 96
"""Overlap of the tiles where a picture is larger than one: the run's own default."""
LIMITS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "fp16": MappingProxyType({"ap50_95": 0.002, "ap50_deployed": 0.01}),
        "int8": MappingProxyType({"ap50_95": 0.010, "ap50_deployed": 0.02}),
    }
)
"""Precision -> figure -> loss that is accepted, as a share: 0.01 is one point. At a threshold single objects come and
go: with 200 labels one of them is half a point, so that the second limit is the wider one."""


@dataclass(frozen=True)
class MaskAp:
    """COCO's mask AP over all pictures, no limit on detections a picture beyond the graph's own."""

    ap50_95: float
    """Over everything above the score floor."""
    ap50: float
    ap50_deployed: float
    """Over what lies above the deployed threshold: sinks where scores do."""


@dataclass(frozen=True)
class LabelReport:
    """Both graphs on the same labels."""

    pictures: int
    labels: int
    threshold: float
    """Of `ap50_deployed`."""
    reference: MaskAp
    candidate: MaskAp

    def beyond(self, precision: str) -> list[str]:
        """Losses beyond the limits of a precision, a line each."""
        before, after = asdict(self.reference), asdict(self.candidate)
        return [
            f"mask {name} {after[name]:.4f} for {before[name]:.4f}, {self.labels} labels, limit {limit * 100:g} points"
            for name, limit in LIMITS[precision].items()
            if before[name] - after[name] > limit
        ]

    def summary(self) -> dict[str, Any]:
        """Everything as plain values for JSON."""
        return asdict(self)


def judge_on_labels(
    reference: Path, candidate: Path, labels: Path, *, threshold: float, progress: Progress = no_progress
) -> LabelReport:
    """Mask AP of two graphs; refuses what lost more than the limits of the candidate's precision.

    Args:
        reference: float32 graph.
        candidate: the reduced graph of the same weights.
        labels: label file; its pictures lie in `images/` beside it, or right beside it.
        threshold: deployed confidence.
        progress: told how many pictures are done, a stage for each graph.

    Raises:
        RefusedError: the candidate lost more.
        LabelsError: no labels, classes that the model does not have, or pictures that cannot be read.
    """
    folder = pictures_beside(labels)
    sides = [open_segmenter(path) for path in (reference, candidate)]
    try:
        known = read_for(labels, folder, sides[0].info.class_names)
        report = compare_on_labels(sides[0], sides[1], known, folder, threshold=threshold, progress=progress)
        precision = sides[1].info.precision
    finally:
        for side in sides:
            side.close()
    faults = report.beyond(precision)
    if faults:
        raise RefusedError(
            f"{precision} was refused on labelled pictures: {'; '.join(faults)}",
            mend=MENDS[precision],
            figures={"labelled": report.summary()},
        )
    return report


def pictures_beside(labels: Path) -> Path:
    """Folder of the pictures that a label file speaks of."""
    images = labels.parent / "images"
    return images if images.is_dir() else labels.parent


def read_for(path: Path, images: Path | None, class_names: Sequence[str]) -> LabelSet:
    """Labels whose classes are the model's, or all taken as the only class that it has.

    Raises:
        LabelsError: no such file, no labels, or a class that the model does not have.
    """
    labels = read_labels(path, images=images)
    if len(class_names) > 1:
        match_classes(labels, class_names)
    if not labels.instance_count:
        raise LabelsError(f"{path} holds no labels", mend="give labelled pictures of the scene that the model will see")
    return labels


def compare_on_labels(
    reference: Segmenter,
    candidate: Segmenter,
    labels: LabelSet,
    images: Path,
    *,
    threshold: float,
    progress: Progress = no_progress,
) -> LabelReport:
    """Mask AP of both.

    Args:
        reference: float32.
        candidate: the reduced graph of the same weights.
        labels: what is there.
        images: folder of the pictures.
        threshold: deployed confidence.
        progress: told how many pictures are done, a stage for each model.

    Raises:
        LabelsError: a picture that cannot be read or has another size than its labels say.
    """
    pictures = len(labels.pictures)
    figures = []
    for side in (reference, candidate):

        def told(done: int, stage: str = f"labelled pictures in {side.info.precision}") -> None:
            progress(stage, done, pictures)

        found = predict(side, labels, images, told=told)
        figures.append(mask_ap(labels, found, side.info.class_names, threshold=threshold))
    return LabelReport(pictures, labels.instance_count, threshold, figures[0], figures[1])


def predict(
    segmenter: Segmenter, labels: LabelSet, images: Path, *, told: Callable[[int], None] = lambda _: None
) -> list[Instances]:
    """What a graph finds in every labelled picture, in pixels of the picture.

    Args:
        segmenter: the graph.
        labels: which pictures, and their sizes.
        images: folder of the pictures.
        told: called with the number of pictures that are done.

    Raises:
        LabelsError: a picture that cannot be read or has another size than its labels say.
    """
    found = []
    size_px = segmenter.info.tile_size_px
    settings = TileSettings(size_px, min(OVERLAP_PX, size_px // 4))
    for picture in labels.pictures:
        image = read_picture(images / picture.name)
        if isinstance(image, str):
            raise LabelsError(f"picture {images / picture.name}: {image}", mend="give the folder with --images")
        if (image.shape[1], image.shape[0]) != picture.size_wh:
            raise LabelsError(f"{picture.name} has another size than its labels say", mend="label this very picture")
        specs = plan_tiles(picture.size_wh, settings)
        results = segmenter.segment(np.stack([cut_tile(image, spec) for spec in specs]))
        instances = [result.instances for result in results]
        found.append(merge(specs, instances, picture.size_wh, MergeSettings()).instances)
        told(len(found))
    return found


def mask_ap(labels: LabelSet, found: Sequence[Instances], class_names: Sequence[str], *, threshold: float) -> MaskAp:
    """pycocotools' AP of predictions, an entry a picture of the labels; a model's only class takes all labels."""
    truth = coco_dict(labels)
    numbers = {entry["name"]: entry["id"] for entry in truth["categories"]}
    if len(class_names) == 1:
        truth["categories"] = [{"id": 1, "name": class_names[0]}]
        truth["annotations"] = [{**entry, "category_id": 1} for entry in truth["annotations"]]
        numbers = {class_names[0]: 1}
    rows = []
    for image, instances in zip(truth["images"], found, strict=True):
        size = (image["width"], image["height"])
        outlines = encode_many(instances.masks, [size] * len(instances))
        for score, label, outline in zip(instances.scores, instances.labels, outlines, strict=True):
            category = numbers.get(class_names[int(label)], 0)
            entry = {"image_id": image["id"], "category_id": category, "segmentation": outline, "score": float(score)}
            rows.append(entry)
    everything = _precision(truth, rows)
    deployed = _precision(truth, [row for row in rows if row["score"] >= threshold])
    return MaskAp(_mean(everything), _mean(everything[:1]), _mean(deployed[:1]))


def _precision(truth: dict[str, Any], rows: list[dict[str, Any]]) -> Any:
    """Precision by IoU threshold, recall, class: COCOeval's own array, over areas of any size."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    if not rows:
        return np.zeros((1, 1, 1))
    with redirect_stdout(StringIO()):  # pycocotools reports its progress by print
        data = COCO()
        data.dataset = truth
        data.createIndex()
        evaluation = COCOeval(data, data.loadRes([dict(row) for row in rows]), "segm")  # which writes into them
        evaluation.params.maxDets = [len(rows)]
        evaluation.params.areaRng, evaluation.params.areaRngLbl = [[0, 1e10]], ["all"]
        evaluation.evaluate()
        evaluation.accumulate()
    return evaluation.eval["precision"][:, :, :, 0, 0]


def _mean(precision: Any) -> float:
    """Mean of what is defined: COCO writes -1 where a class has no labels."""
    defined = precision[precision > -1]
    return float(defined.mean()) if defined.size else 0.0
