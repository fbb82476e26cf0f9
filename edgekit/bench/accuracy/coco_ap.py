"""COCO's box and mask AP, by hotcoco.

hotcoco and not faster-coco-eval: on coco_val100 it equals pycocotools bit for bit (faster-coco-eval: to 2e-16), is 9 to
14 times as fast as pycocotools (faster-coco-eval: 3 to 6 times), takes columns instead of a dict an annotation, and has
one stable-ABI wheel for aarch64 and Python 3.10 on; it is MIT licensed. Measured by `python bench/metrics/ap_peers.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from edgekit.bench.accuracy.objects import EVERY_CLASS, Floats, Predictions, Truth
from edgekit.errors import MissingDependencyError
from edgekit.masks.batch import encode_many

OUT_OF_RANGE_PX = 1e11
"""Area of labels that COCO's evaluation shall ignore without their being crowds: it ignores what no range holds."""
MAX_DETECTIONS = (1, 10, 100)
"""COCO's limits on detections a picture; AP uses the last."""


@dataclass(frozen=True)
class CocoAp:
    """The figures of COCO's summary; None where no label of that kind exists."""

    ap50_95: float | None
    ap50: float | None
    ap75: float | None
    ap_small: float | None
    ap_medium: float | None
    ap_large: float | None
    ar_1: float | None
    ar_10: float | None
    ar_100: float | None
    ap_weighted: float | None
    """Mean of the classes' AP, each with its own AP, weighted by its number of labels (after WildBe)."""
    ap_by_class: dict[str, float | None]
    cut_pictures: int
    """Pictures with more than 100 predictions, of which AP sees the best 100 only."""


def coco_ap(truth: Truth, predictions: Predictions, kind: Literal["box", "mask"]) -> CocoAp:
    """AP as COCO defines it, over all pictures.

    Raises:
        MissingDependencyError: hotcoco is not installed.
    """
    hotcoco = require_hotcoco()
    dataset, results = _columns(truth, predictions, kind, hotcoco)
    evaluation: Any = hotcoco.COCOeval(dataset, results, "bbox" if kind == "box" else "segm")
    evaluation.evaluate()
    evaluation.accumulate()
    precision, recall = evaluation.eval["precision"], evaluation.eval["recall"]
    by_class = {name: _mean(precision[:, :, index, 0, -1]) for index, name in enumerate(truth.class_names)}
    per_picture = np.bincount(predictions.picture, minlength=1)
    return CocoAp(
        ap50_95=_mean(precision[..., 0, -1]),
        ap50=_mean(precision[0, ..., 0, -1]),
        ap75=_mean(precision[5, ..., 0, -1]),
        ap_small=_mean(precision[..., 1, -1]),
        ap_medium=_mean(precision[..., 2, -1]),
        ap_large=_mean(precision[..., 3, -1]),
        ar_1=_mean(recall[..., 0, 0]),
        ar_10=_mean(recall[..., 0, 1]),
        ar_100=_mean(recall[..., 0, 2]),
        ap_weighted=weighted_mean(by_class, truth),
        ap_by_class=by_class,
        cut_pictures=int(np.count_nonzero(per_picture > MAX_DETECTIONS[-1])),
    )


def require_hotcoco() -> Any:
    """The module hotcoco.

    Raises:
        MissingDependencyError: it is not installed.
    """
    try:
        import hotcoco
    except ImportError as error:
        raise MissingDependencyError("hotcoco is not installed", mend="pip install 'edgekit[bench]'") from error
    return hotcoco


def weighted_mean(by_class: dict[str, float | None], truth: Truth) -> float | None:
    """Mean over classes, weighted by the labels that count; None where no class has labels."""
    count = np.bincount(truth.label[~truth.ignore], minlength=len(truth.class_names))
    pairs = [(value, int(number)) for value, number in zip(by_class.values(), count, strict=True) if value is not None]
    total = sum(number for _, number in pairs)
    return sum(value * number for value, number in pairs) / total if total else None


def _mean(values: Floats) -> float | None:
    """Mean of what is defined: COCO writes -1 where a class has no labels."""
    defined = values[values > -1]
    return float(defined.mean()) if defined.size else None


def _columns(truth: Truth, predictions: Predictions, kind: str, hotcoco: Any) -> tuple[Any, Any]:
    """Both sides as hotcoco's data sets. Ids count from 1, since 0 means "not matched" in COCO's evaluation."""
    images = [
        {"id": number, "file_name": name, "width": size[0], "height": size[1]}
        for number, (name, size) in enumerate(zip(truth.picture_names, truth.sizes_wh, strict=True), 1)
    ]
    categories = [{"id": number, "name": name} for number, name in enumerate(truth.class_names, 1)]
    rows, classes = _for_every_class(truth)
    areas = np.where(truth.ignore & ~truth.crowd, OUT_OF_RANGE_PX, truth.areas_px)[rows]
    labelled = _outlines(truth, truth.masks, rows, truth.picture) if kind == "mask" else None
    dataset = hotcoco.COCO.from_arrays(
        images, categories, truth.picture[rows] + 1, classes + 1, _xywh(truth.boxes_xyxy[rows]),
        area=areas, iscrowd=truth.crowd[rows].astype(np.int64), segmentation=labelled,
    )  # fmt: skip
    if not len(predictions):
        return dataset, hotcoco.COCO({"images": images, "categories": categories, "annotations": []})
    columns = np.column_stack([
        predictions.picture + 1, _xywh(predictions.boxes_xyxy), predictions.scores, predictions.label + 1,
    ])  # fmt: skip
    if kind == "box" or predictions.masks is None:
        return dataset, dataset.load_res(columns)
    outlines = _outlines(truth, predictions.masks, np.arange(len(predictions)), predictions.picture)
    results = dataset.load_res(columns, segmentation=outlines)
    # Results that have a box are sorted into small, medium and large by it (cocoapi#36); a mask has its own area.
    results.update_anns(ids=np.arange(1, len(predictions) + 1), area=predictions.mask_areas_px)
    return dataset, results


def _for_every_class(truth: Truth) -> tuple[Any, Any]:
    """Rows and classes, with a row that holds for every class repeated for each."""
    everywhere = truth.label == EVERY_CLASS
    times = np.where(everywhere, len(truth.class_names), 1)
    rows = np.repeat(np.arange(len(truth)), times)
    step = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
    return rows, np.where(everywhere[rows], step, truth.label[rows])


def _outlines(truth: Truth, masks: Any, rows: Any, picture: Any) -> list[Any]:
    chosen = rows.tolist()
    return list(encode_many([masks[i] for i in chosen], [truth.sizes_wh[picture[i]] for i in chosen]))


def _xywh(boxes_xyxy: Floats) -> Floats:
    return np.concatenate([boxes_xyxy[:, :2], boxes_xyxy[:, 2:] - boxes_xyxy[:, :2]], axis=1)
