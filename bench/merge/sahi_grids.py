"""sahi's sliced prediction on the same grids, kept on disk as (score, COCO RLE) of each object.

The grid is moved to the left and up by padding the picture there with black. Everything that sahi merges with is its
default; its whole-picture pass is left out, since it would hide what merging does (and edgekit has none).
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
from pictures import Picture

from edgekit.contracts import MaskCrop
from edgekit.masks import clip, trim

TILE_PX = 512


class SahiGrids:
    """sahi with Ultralytics.

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
