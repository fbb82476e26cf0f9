"""Random labels and predictions for tests."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from edgekit.bench.accuracy.objects import Predictions, Truth
from edgekit.contracts import MaskCrop
from edgekit.masks import bounds_xyxy


def blob(rng, size=48, least=4, most=20) -> MaskCrop:
    """A filled ellipse somewhere in the picture, maybe cut by its border."""
    height, width = rng.integers(least, most, 2)
    y, x = np.mgrid[:height, :width]
    plane = ((x - (width - 1) / 2) / (width / 2)) ** 2 + ((y - (height - 1) / 2) / (height / 2)) ** 2 <= 1
    return MaskCrop(plane, int(rng.integers(0, size - width)), int(rng.integers(0, size - height)))


def moved(rng, mask: MaskCrop, size=48, most=4) -> MaskCrop:
    dx, dy = rng.integers(-most, most + 1, 2)
    height, width = mask.plane.shape
    x, y = np.clip(mask.x_px + dx, 0, size - width), np.clip(mask.y_px + dy, 0, size - height)
    return MaskCrop(mask.plane, int(x), int(y))


def boxes(masks) -> np.ndarray:
    return np.array([bounds_xyxy(mask) for mask in masks], np.float64).reshape(-1, 4)


def truth_of(pictures, masks, picture, *, label=None, crowd=None, ignore=None, classes=1, size=48) -> Truth:
    count = len(masks)
    crowd = np.zeros(count, bool) if crowd is None else np.asarray(crowd, bool)
    ignore = crowd if ignore is None else np.asarray(ignore, bool) | crowd
    return Truth(
        tuple(f"{number}.png" for number in range(pictures)), ((size, size),) * pictures,
        tuple(f"class{number}" for number in range(classes)), np.asarray(picture, np.intp),
        np.zeros(count, np.intp) if label is None else np.asarray(label, np.intp), boxes(masks), tuple(masks),
        np.array([mask.area_px for mask in masks], np.float64), crowd, ignore, (MappingProxyType({}),) * count, True,
    )  # fmt: skip


def predictions_of(masks, picture, scores, label=None) -> Predictions:
    return Predictions(
        np.asarray(picture, np.intp), np.zeros(len(masks), np.intp) if label is None else np.asarray(label, np.intp),
        boxes(masks), np.asarray(scores, np.float64), tuple(masks),
    )  # fmt: skip


def scene(seed, pictures=6, most=8, classes=1, *, ties=True, crowds=True, size=48, grow=1) -> tuple[Truth, Predictions]:
    """Labels, and predictions that are moved labels, doubles and false alarms; some pictures are empty."""
    rng = np.random.default_rng(seed)
    labelled, at, label, found, found_at, found_label = [], [], [], [], [], []
    for number in range(pictures):
        mine = [blob(rng, size, 4, 20 * grow) for _ in range(rng.integers(0, most))]
        kinds = rng.integers(0, classes, len(mine)).tolist()
        labelled += mine
        at += [number] * len(mine)
        label += kinds
        for mask, kind in zip(mine, kinds, strict=True):
            for _ in range(rng.integers(0, 3)):
                found.append(moved(rng, mask, size, 4 * grow))
                found_label.append(kind if rng.random() < 0.9 else int(rng.integers(classes)))
                found_at.append(number)
        for _ in range(rng.integers(0, 3)):
            found.append(blob(rng, size, 4, 20 * grow))
            found_label.append(int(rng.integers(classes)))
            found_at.append(number)
    shuffled = rng.permutation(len(found))
    shuffled = shuffled[np.argsort(np.array(found_at, int)[shuffled], kind="stable")]
    scores = rng.random(len(found))
    scores = np.round(scores, 1) if ties else scores
    crowd = rng.random(len(labelled)) < (0.15 if crowds else 0)
    truth = truth_of(pictures, labelled, at, label=label, crowd=crowd, classes=classes, size=size)
    chosen = [found[i] for i in shuffled]
    return truth, predictions_of(chosen, [found_at[i] for i in shuffled], scores, [found_label[i] for i in shuffled])
