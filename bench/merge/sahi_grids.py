"""sahi on the same grids: its whole sliced prediction, or only its merging, fed with edgekit's detections.

Everything that sahi merges with is its default (greedy merging of what overlaps by half of the smaller one). Its pass
over the whole picture is left out, since it would hide what merging does, and edgekit has none.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pictures import Picture

from edgekit.contracts import Instances, MaskCrop, TileSpec
from edgekit.masks import clip, trim

TILE_PX = 512


def sahi_merge(
    specs: Sequence[TileSpec], results: Sequence[Instances], size_wh: tuple[int, int], threshold: float
) -> list[MaskCrop]:
    """sahi's merging of the detections that pass the threshold; masks in picture pixels."""
    from sahi.postprocess.combine import GreedyNMMPostprocess
    from sahi.prediction import ObjectPrediction
    from sahi.utils.cv import get_coco_segmentation_from_bool_mask

    found = []
    for spec, result in zip(specs, results, strict=True):
        for row in np.flatnonzero(result.scores >= np.float32(threshold)):
            outline = get_coco_segmentation_from_bool_mask(in_frame(result.masks[row], spec.size_px, spec.size_px))
            if outline:
                seen = ObjectPrediction(
                    bbox=result.boxes_xyxy[row].tolist(), category_id=int(result.labels[row]), category_name="fruit",
                    score=float(result.scores[row]), segmentation=outline, shift_amount=[spec.x_px, spec.y_px],
                    full_shape=list(size_wh[::-1]),
                )  # fmt: skip
                found.append(seen.get_shifted_object_prediction())
    merged = GreedyNMMPostprocess(match_threshold=0.5, match_metric="IOS", class_agnostic=False)(found)
    return [trim(MaskCrop(item.mask.bool_mask, 0, 0)) for item in merged]


def in_frame(mask: MaskCrop, width: int, height: int) -> np.ndarray:
    """The mask as a plane of the whole frame."""
    plane = np.zeros((height, width), np.bool_)
    rows, columns = mask.plane.shape
    plane[mask.y_px : mask.y_px + rows, mask.x_px : mask.x_px + columns] = mask.plane
    return plane


class SahiGrids:
    """sahi's whole sliced prediction with Ultralytics; the grid is moved by padding the picture with black.

    Args:
        weights: the checkpoint that the graph was exported from.
        cache: folder that keeps the results.
        threshold: sahi merges what passes it.
    """

    def __init__(self, weights: Path, cache: Path, threshold: float) -> None:
        self._weights = weights
        self._folder = cache / f"sahi-{weights.stem}-{threshold:g}"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._threshold = threshold
        self._model: Any = None

    def of(self, picture: Picture, overlap_px: int, phase_px: int) -> list[MaskCrop]:
        """Masks of the objects that sahi counts, in picture pixels."""
        kept_in = self._folder / f"{picture.name}-{overlap_px}-{phase_px}.pickle"
        if not kept_in.exists():
            kept_in.write_bytes(pickle.dumps(self._predict(picture, overlap_px, phase_px)))
        masks: list[MaskCrop] = pickle.loads(kept_in.read_bytes())
        return masks

    def _predict(self, picture: Picture, overlap_px: int, phase_px: int) -> list[MaskCrop]:
        from sahi.predict import get_sliced_prediction

        image = picture.read()
        height, width = image.shape[:2]
        padded = np.pad(image, ((phase_px, 0), (phase_px, 0), (0, 0)))
        result = get_sliced_prediction(
            padded, self._opened(), slice_height=TILE_PX, slice_width=TILE_PX, perform_standard_pred=False,
            overlap_height_ratio=overlap_px / TILE_PX, overlap_width_ratio=overlap_px / TILE_PX, verbose=0,
        )  # fmt: skip
        masks = [trim(MaskCrop(found.mask.bool_mask, -phase_px, -phase_px)) for found in result.object_prediction_list]
        masks = [trim(clip(mask, 0, 0, width, height)) for mask in masks]
        return [MaskCrop(mask.plane.copy(), mask.x_px, mask.y_px) for mask in masks]

    def _opened(self) -> Any:
        from sahi import AutoDetectionModel

        if self._model is None:
            self._model = AutoDetectionModel.from_pretrained(
                model_type="ultralytics", model_path=str(self._weights), confidence_threshold=self._threshold,
                image_size=TILE_PX, device="cpu",
            )  # fmt: skip
        return self._model
