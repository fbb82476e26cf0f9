"""What torchvision itself says of tiles, as edgekit's results and as the contract's arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torchvision.models.detection import MaskRCNN

from edgekit.contracts import FloatArray, Instances, IntArray, MaskCrop, TileResult
from edgekit.export.builder import Eager
from edgekit.masks import trim

ON_AT = 0.5
"""A pixel of a pasted probability mask is on from here."""


@dataclass(frozen=True, eq=False)
class ReferenceRows:
    """torchvision's detections of one tile, masks in their own frame."""

    boxes: FloatArray
    """float32, N x 4, xyxy in tile pixels."""
    scores: FloatArray
    labels: IntArray
    """int32, N, from 0 without background."""
    masks: FloatArray
    """float32, N x m x m, probabilities in the box."""
    planes: npt.NDArray[np.bool_]
    """bool, N x S x S, pasted by torchvision."""


def reference(model: MaskRCNN) -> Eager:
    """torchvision's forward, tile by tile."""

    def predict(tiles: npt.NDArray[np.uint8]) -> list[TileResult]:
        return [_tile_result(reference_rows(model, tile)) for tile in tiles]

    return predict


def reference_rows(model: MaskRCNN, tile: npt.NDArray[np.uint8]) -> ReferenceRows:
    """Run torchvision's `MaskRCNN.forward` on one tile, and catch the masks before it pastes them.

    Args:
        model: in evaluation mode.
        tile: uint8, S x S x 3, RGB.
    """
    caught: list[torch.Tensor] = []

    def catch(_: Any, __: Any, output: tuple[list[dict[str, torch.Tensor]], Any]) -> None:
        caught.append(output[0][0]["masks"][:, 0].clone())

    hook = model.roi_heads.register_forward_hook(catch)
    try:
        with torch.no_grad():
            picture = torch.from_numpy(np.ascontiguousarray(tile)).permute(2, 0, 1) / 255.0
            found = model([picture])[0]
    finally:
        hook.remove()
    return ReferenceRows(
        found["boxes"].numpy(),
        found["scores"].numpy(),
        (found["labels"] - 1).numpy().astype(np.int32),
        caught[0].numpy(),
        (found["masks"][:, 0] >= ON_AT).numpy(),
    )


def _tile_result(rows: ReferenceRows) -> TileResult:
    masks = tuple(trim(MaskCrop(plane, 0, 0)) for plane in rows.planes)
    return TileResult(Instances(rows.boxes, rows.scores, rows.labels, masks), len(masks))
