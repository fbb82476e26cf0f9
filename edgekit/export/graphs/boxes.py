"""Box arithmetic in float32, for any number of leading dimensions; boxes are xyxy in pixels."""

from __future__ import annotations

import math

import torch

from edgekit.export.graphs.sizes import sizes

MAX_LOG_SCALE = math.log(1000.0 / 16.0)
"""torchvision's limit of a size delta, so that exp() stays finite."""

Weights = tuple[float, float, float, float]


def decode(deltas: torch.Tensor, reference: torch.Tensor, weights: Weights) -> torch.Tensor:
    """Boxes from deltas to reference boxes (Ren et al. 2015, equation 2; torchvision's `BoxCoder.decode_single`).

    Args:
        deltas: ... x 4: shift of the centre in reference sizes, log of the size ratio, each times its weight.
        reference: ... x 4, broadcast against the deltas.
        weights: of dx, dy, dw, dh.
    """
    low, high = reference[..., 0:2], reference[..., 2:4]
    size = high - low
    centre = low + 0.5 * size
    shift = deltas[..., 0:2] / torch.tensor(weights[0:2])
    growth = (deltas[..., 2:4] / torch.tensor(weights[2:4])).clamp(max=MAX_LOG_SCALE)
    new_centre = shift * size + centre
    half = 0.5 * (growth.exp() * size)
    return torch.cat([new_centre - half, new_centre + half], dim=-1)


def probability(logits: torch.Tensor) -> torch.Tensor:
    """1 / (1 + exp(-x)) in so many operators: never falls where x rises, and is PyTorch's to the last bit close to 1.

    ONNX Runtime's `Sigmoid` is a rational approximation that does fall from one float to the next, so that scores that
    are almost equal would change places.
    """
    return 1.0 / (1.0 + (-logits).exp())


def large_enough(boxes: torch.Tensor, side_px: float) -> torch.Tensor:
    """True where both sides of a box are at least so long."""
    return ((boxes[..., 2:4] - boxes[..., 0:2]) >= side_px).all(dim=-1)


def area(boxes: torch.Tensor) -> torch.Tensor:
    """Area of each box, in square pixels."""
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def pairwise_iou(boxes: torch.Tensor) -> torch.Tensor:
    """IoU of all pairs: G x N x 4 -> G x N x N; not a number for a pair of empty boxes."""
    low = torch.maximum(boxes[:, :, None, 0:2], boxes[:, None, :, 0:2])
    high = torch.minimum(boxes[:, :, None, 2:4], boxes[:, None, :, 2:4])
    overlap = (high - low).clamp(min=0.0)
    shared = overlap[..., 0] * overlap[..., 1]
    areas = area(boxes)
    return shared / (areas[:, :, None] + areas[:, None, :] - shared)


def take_rows(table: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Rows of every group's table: G x N x C and int64 G x M -> G x M x C."""
    return table.gather(1, rows.unsqueeze(2).expand(-1, -1, sizes(table)[2]))
