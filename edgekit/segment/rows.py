"""From the padded rows that a graph returns to results: only the valid rows are ever looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from edgekit.contracts import Instances, MaskCrop, ModelInfo, ResultFlag, TileResult
from edgekit.errors import ModelError
from edgekit.masks import crop_tile_mask, paste_box_mask

Outputs = Mapping[str, npt.NDArray[Any]]
"""The outputs of one call by name; the first axis is the batch."""


def decode_rows(outputs: Outputs, index: int, info: ModelInfo) -> TileResult:
    """The result of one tile of a batch. Nothing in it shares memory with `outputs`, which the next call overwrites.

    Raises:
        ModelError: a count that cannot be, or labels beyond the class names.
    """
    count = int(outputs["count"][index])
    if not 0 <= count <= info.max_detections:
        raise ModelError(f"the model returned {count} rows of {info.max_detections}", mend="export it again")
    boxes = np.array(outputs["boxes"][index, :count], np.float32)
    labels = np.array(outputs["labels"][index, :count], np.int32)
    if count and not 0 <= labels.min() <= labels.max() < len(info.class_names):
        classes = f"{labels.min()} to {labels.max()}, its metadata names {len(info.class_names)}"
        raise ModelError(f"the model returned classes {classes}", mend="export it again with its own class names")
    scores = np.array(outputs["scores"][index, :count], np.float32)
    masks = tuple(_draw(outputs["masks"][index, row], boxes[row], info) for row in range(count))
    instances = Instances(boxes, scores, labels, masks)
    return TileResult(instances, int(outputs["candidates"][index]), ResultFlag(int(outputs["flags"][index])))


def _draw(mask: npt.NDArray[np.uint8], box_xyxy: npt.NDArray[np.float32], info: ModelInfo) -> MaskCrop:
    if info.mask_frame == "tile":
        return crop_tile_mask(mask, box_xyxy, info.tile_size_px)
    return paste_box_mask(mask, box_xyxy, info.tile_size_px)
