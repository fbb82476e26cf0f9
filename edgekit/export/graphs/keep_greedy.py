"""Greedy NMS for graphs that run on ONNX Runtime's CPU provider, by its own operator.

`NonMaxSuppression` has a data-dependent number of rows, so that the result is scattered back into a plane of fixed
shape at once; nothing behind it has an unknown shape. It takes 0.1 ms where a fixed point over 1024 boxes takes 20
(`python bench/export/nms_cost.py`), but TensorRT does not take it: there the fixed point is used.
"""

from __future__ import annotations

from typing import Any

import torch
from torchvision.ops import batched_nms


class KeepGreedy(torch.autograd.Function):
    """Which boxes survive greedy NMS within their class."""

    @staticmethod
    def forward(ctx: Any, boxes: torch.Tensor, class_scores: torch.Tensor, iou: float) -> torch.Tensor:
        """Eager twin of the operator.

        Args:
            ctx: Context of autograd, not used.
            boxes: float32, B x N x 4, xyxy.
            class_scores: float32, B x C x N; 0 where a box is not a candidate of the class, and each box is a
                candidate of one class at most.
            iou: a box that overlaps a better one of its class by more is dropped.

        Returns:
            float32, B x N; 1 where the box is kept.
        """
        keep = torch.zeros(boxes.shape[:2])
        scores, labels = class_scores.max(dim=1)
        for image in range(len(boxes)):
            rows = torch.nonzero(scores[image] > 0)[:, 0]
            kept = batched_nms(boxes[image, rows], scores[image, rows], labels[image, rows], iou)
            keep[image, rows[kept]] = 1.0
        return keep

    @staticmethod
    def symbolic(g: Any, boxes: Any, class_scores: Any, iou: float) -> Any:
        """The same in ONNX operators: suppress, then scatter ones at (image, box)."""

        def constant(value: torch.Tensor) -> Any:
            return g.op("Constant", value_t=value)

        shape = boxes.type().sizes()[:2]
        chosen = g.op(
            "NonMaxSuppression",
            boxes,
            class_scores,
            constant(torch.tensor([shape[1]])),
            constant(torch.tensor([iou])),
            constant(torch.tensor([0.0])),
        )
        where = g.op("Gather", chosen, constant(torch.tensor([0, 2])), axis_i=1)
        count = g.op("Slice", g.op("Shape", chosen), *(constant(torch.tensor([value])) for value in (0, 1, 0)))
        ones = g.op("Expand", constant(torch.tensor([1.0])), count)
        keep = g.op("ScatterND", constant(torch.zeros(shape)), where, ones)
        return keep.setType(boxes.type().with_sizes(shape))
