"""What Ultralytics itself says of tiles, with masks as the contract carries them.

Network, decoding and NMS are Ultralytics' own. Its masks are taken as prototypes and coefficients, before it draws
them. Drawn masks tell more of two rules than of the graph: Ultralytics enlarges logits where the contract has
probabilities, and keeps pixels by their corner where edgekit goes by their centre
(`bench/parity/yolo_ultralytics.py` compares those as well).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from edgekit.contracts import FloatArray, Instances, IntArray, TileResult
from edgekit.export.builder import Eager
from edgekit.export.recipe import Recipe
from edgekit.masks import crop_tile_mask


@dataclass(frozen=True, eq=False)
class YoloRows:
    """Ultralytics' detections of one tile, masks in the prototypes' frame."""

    boxes: FloatArray
    """float32, N x 4, xyxy in tile pixels."""
    scores: FloatArray
    labels: IntArray
    """int32, N, from 0 without background."""
    masks: FloatArray
    """float32, N x m x m, probabilities over the whole tile."""

    def result(self, size_px: int) -> TileResult:
        """The rows as edgekit's, masks rounded and drawn as those of a graph are."""
        pixels = np.round(self.masks * 255.0).astype(np.uint8)
        masks = tuple(crop_tile_mask(mask, box, size_px) for mask, box in zip(pixels, self.boxes, strict=True))
        return TileResult(Instances(self.boxes, self.scores, self.labels, masks), len(masks))


class UltralyticsRows:
    """Ultralytics' predict at a recipe's settings, tile by tile.

    Args:
        model: Ultralytics' segmentation model; fused in place.
        recipe: floor, IoU, limit and sizes.
    """

    def __init__(self, model: nn.Module, recipe: Recipe) -> None:
        from ultralytics.models.yolo.segment import SegmentationPredictor

        settings = {
            "conf": recipe.score_floor, "iou": recipe.nms_iou, "max_det": recipe.max_detections,
            "imgsz": recipe.inner_size_px, "device": "cpu", "verbose": False, "save": False,
        }  # fmt: skip
        predictor: Any = SegmentationPredictor(overrides=settings)
        predictor.setup_model(model, verbose=False)
        self._size_px = recipe.tile_size_px
        self._scale = recipe.tile_size_px / recipe.inner_size_px
        self._caught: list[tuple[torch.Tensor, torch.Tensor]] = []
        self._draw: Any = predictor.construct_result
        predictor.construct_result = self._catch
        self._predictor = predictor

    def rows(self, tile: npt.NDArray[np.uint8]) -> tuple[YoloRows, Any]:
        """Detections of one tile (uint8, S x S x 3, RGB), and Ultralytics' own `Results` with its masks drawn."""
        self._caught.clear()
        bgr = np.ascontiguousarray(tile[..., ::-1])
        drawn = next(iter(self._predictor(source=[bgr], stream=False)))
        found, prototypes = self._caught[0]
        boxes = (found[:, :4] * self._scale).clamp(0.0, self._size_px)
        masks = (found[:, 6:] @ prototypes.flatten(1)).sigmoid().reshape(len(found), *prototypes.shape[1:])
        labels = found[:, 5].numpy().astype(np.int32)
        return YoloRows(boxes.numpy(), found[:, 4].numpy(), labels, masks.numpy()), drawn

    def _catch(self, found: torch.Tensor, image: Any, original: Any, path: Any, prototypes: torch.Tensor) -> Any:
        self._caught.append((found.clone(), prototypes))
        return self._draw(found, image, original, path, prototypes)


def reference(model: nn.Module, recipe: Recipe) -> Eager:
    """Ultralytics' answer to tiles, as edgekit's results."""

    def predict(tiles: npt.NDArray[np.uint8]) -> list[TileResult]:
        rows = UltralyticsRows(model, recipe)
        return [rows.rows(tile)[0].result(recipe.tile_size_px) for tile in tiles]

    return predict
