"""Parity of two artifacts of one model, judged on sets of detections (not row by row: ties may swap rows)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from edgekit.contracts import FloatArray, Instances, ModelInfo, TileResult
from edgekit.export.count_difference import CountDifference, count_difference
from edgekit.masks import iou, pasted_corners
from edgekit.wording import counted

MATCH_IOU = 0.5
"""Detections of one class whose masks overlap less are never the same one."""
FEW_PX = 16
"""Masks of so few pixels say little: one that lies at 127.5 is a good part of them. There the boxes decide as well."""
SAME_BOX_PX = 0.01
"""Boxes of one class whose sides differ by no more are the same detection, whatever their masks say."""
SCORE_MARGIN = 1e-4
"""A score this close to the floor or to the cut to K may be on either side of it: exempt, but counted."""
DEFAULT_THRESHOLD = 0.5
"""Where the counts are compared for weights that name no threshold of their own."""


@dataclass(frozen=True)
class Limits:
    """How far a candidate may lie from its reference; None: not judged."""

    unmatched_share: float
    """Detections without a partner, of all detections of both."""
    median_iou: float
    """Median mask IoU of the matched detections."""
    worst_iou: float | None
    """Smallest mask IoU of a matched detection."""
    score_difference: float | None
    """Largest difference of the scores of matched detections."""
    box_difference_px: float | None
    """Largest difference of a side of matched boxes."""
    count_difference_share: float | None
    """Difference of the count at the deployed threshold, of the reference's count; see `CountDifference.fault`."""


LIMITS = MappingProxyType(
    {
        "fp32": Limits(0.0, 0.999, 0.9, 1e-4, SAME_BOX_PX, 0.0),
        "fp16": Limits(0.01, 0.99, None, None, None, 0.01),
        "int8": Limits(0.15, 0.94, None, None, None, 0.05),
    }
)
"""Limits by the candidate's precision, whatever the reference: another graph, or the checkpoint in its own program."""


@dataclass(frozen=True)
class ParityReport:
    """How two artifacts agree on the same tiles."""

    tiles: int
    reference: int
    """Detections of the reference."""
    candidate: int
    matched: int
    unmatched: int
    """Detections of either without a partner, those that are exempt not counted."""
    exempt: int
    """Detections without a partner whose score lies at the floor or at the cut to K."""
    median_iou: float | None
    """None where nothing was matched."""
    worst_iou: float | None
    pasted_apart: int
    """Matched detections that mask IoU leaves out: their boxes agree, but a side lies so close to a whole pixel that
    the same mask is pasted one pixel apart."""
    score_difference: float | None
    box_difference_px: float | None
    threshold: float
    """Where the counts are compared."""
    reference_count: int
    candidate_count: int
    count_margin_share: float
    """Half width of the 95 % interval of the difference of the counts, of the reference's count."""
    could_flip_share: float
    """Reference detections whose score is closer to the threshold than the largest score difference."""

    @property
    def unmatched_share(self) -> float:
        """Detections without a partner, of all detections of both."""
        return self.unmatched / max(self.reference + self.candidate, 1)

    @property
    def counts(self) -> CountDifference:
        """At the threshold."""
        return CountDifference(self.reference_count, self.candidate_count, self.count_margin_share)

    def line(self, limits: Limits) -> str:
        """Pairs, the share of detections without a partner with its limit, and the counts."""
        whole = self.reference + self.candidate
        share = f"{100 * self.unmatched_share:.1f} %, limit {100 * limits.unmatched_share:g} %"
        return (
            f"{counted(self.matched, 'pair')} matched, {self.unmatched} of {whole} detections without a partner"
            f" ({share}), median mask IoU {self.median_iou or 0:.4f}, {self.counts.line(self.threshold)}"
        )

    def summary(self) -> dict[str, Any]:
        """Everything as plain values for JSON."""
        shares = {"unmatched_share": self.unmatched_share, "count_difference_share": self.counts.share}
        return {**asdict(self), **shares}

    def beyond(self, limits: Limits) -> list[str]:
        """What lies beyond the limits, a line each; empty where the candidate passes."""
        checks = (
            ("unmatched share", self.unmatched_share, limits.unmatched_share, 1),
            ("median mask IoU", self.median_iou, limits.median_iou, -1),
            ("worst mask IoU", self.worst_iou, limits.worst_iou, -1),
            ("score difference", self.score_difference, limits.score_difference, 1),
            ("box difference in px", self.box_difference_px, limits.box_difference_px, 1),
        )
        limit = limits.count_difference_share
        count = None if limit is None else self.counts.fault(limit, self.threshold)
        return [
            f"{name} {value:.4g}, limit {limit:g}"
            for name, value, limit, sign in checks
            if value is not None and limit is not None and not sign * value <= sign * limit
        ] + ([count] if count else [])


def compare(
    reference: Sequence[TileResult], candidate: Sequence[TileResult], *, info: ModelInfo, threshold: float
) -> ParityReport:
    """Match the detections of the same tiles and measure what differs.

    Args:
        reference: a result a tile.
        candidate: results of the same tiles, in the same order.
        info: where the floor and the cut to K lie.
        threshold: confidence at which the counts are compared.
    """
    pairs = [match(a.instances, b.instances) for a, b in zip(reference, candidate, strict=True)]
    apart = [
        info.mask_frame == "box"
        and _pasted_apart(a.instances.boxes_xyxy[i], b.instances.boxes_xyxy[j], info.mask_size_px)
        for a, b, matched in zip(reference, candidate, pairs, strict=True)
        for i, j, _ in matched
    ]
    values = [value for matched in pairs for _, _, value in matched]
    ious = np.array([value for value, moved in zip(values, apart, strict=True) if not moved])
    scores = _differences(reference, candidate, pairs, "scores")
    boxes = _differences(reference, candidate, pairs, "boxes_xyxy")
    exempt, lonely = 0, 0
    for a, b, matched in zip(reference, candidate, pairs, strict=True):
        for side, column in ((a, 0), (b, 1)):
            alone = np.setdiff1d(np.arange(len(side.instances)), [pair[column] for pair in matched])
            at_limit = _at_limit(side.instances.scores[alone], (a, b), info)
            exempt += int(at_limit.sum())
            lonely += int((~at_limit).sum())
    worst_score = float(scores.max()) if len(scores) else None
    all_scores = np.concatenate([result.instances.scores for result in reference] or [np.zeros(0, np.float32)])
    counts = count_difference(*([_total([tile], threshold) for tile in side] for side in (reference, candidate)))
    near = np.abs(all_scores - threshold) <= (worst_score or 0.0)
    return ParityReport(
        tiles=len(reference),
        reference=_total(reference, 0.0),
        candidate=_total(candidate, 0.0),
        matched=len(values),
        unmatched=lonely,
        exempt=exempt,
        median_iou=float(np.median(ious)) if len(ious) else None,
        worst_iou=float(ious.min()) if len(ious) else None,
        pasted_apart=sum(apart),
        score_difference=worst_score,
        box_difference_px=float(boxes.max()) if len(boxes) else None,
        threshold=threshold,
        reference_count=counts.reference,
        candidate_count=counts.candidate,
        count_margin_share=counts.margin_share,
        could_flip_share=float(near.mean()) if len(near) else 0.0,
    )


def match(reference: Instances, candidate: Instances) -> list[tuple[int, int, float]]:
    """Pairs (row of the reference, row of the candidate, mask IoU) of one class, with the largest sum of IoU.

    The closeness of the scores decides between equal masks, so that rows that differ in their score alone do not swap.
    Two masks of a few pixels or none, as of a box one pixel wide, overlap as their boxes do if not better. Rows whose
    boxes are the same are a pair even where their masks are not; the mask IoU then tells.
    """
    overlaps = np.zeros((len(reference), len(candidate)))
    same = np.zeros_like(overlaps)
    for i, mask in enumerate(reference.masks):
        for j in np.flatnonzero(candidate.labels == reference.labels[i]):
            other = candidate.masks[j]
            overlaps[i, j] = iou(mask, other)
            same[i, j] = np.abs(reference.boxes_xyxy[i] - candidate.boxes_xyxy[j]).max() <= SAME_BOX_PX
            if mask.area_px <= FEW_PX and other.area_px <= FEW_PX:
                overlaps[i, j] = max(overlaps[i, j], _box_iou(reference, i, candidate, int(j)))
    gap = np.abs(reference.scores[:, None] - candidate.scores[None, :]) if overlaps.size else overlaps
    certain = np.maximum(overlaps, same)
    rows, columns = linear_sum_assignment(np.where(certain >= MATCH_IOU, certain - 1e-3 * gap, 0.0), maximize=True)
    return [
        (int(i), int(j), float(overlaps[i, j]))
        for i, j in zip(rows, columns, strict=True)
        if certain[i, j] >= MATCH_IOU
    ]


def _pasted_apart(a: FloatArray, b: FloatArray, mask_size_px: int) -> bool:
    """Whether two boxes are the same and their masks are pasted over different pixels all the same."""
    if not np.abs(a - b).max() <= SAME_BOX_PX:
        return False
    return pasted_corners(a, mask_size_px) != pasted_corners(b, mask_size_px)


def _box_iou(reference: Instances, i: int, candidate: Instances, j: int) -> float:
    a, b = reference.boxes_xyxy[i].astype(np.float64), candidate.boxes_xyxy[j].astype(np.float64)
    shared = np.prod(np.clip(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0.0, None))
    joined = np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - shared
    return float(shared / joined) if joined > 0 else float(np.array_equal(a, b))


def _at_limit(
    scores: npt.NDArray[np.float32], both: tuple[TileResult, TileResult], info: ModelInfo
) -> npt.NDArray[np.bool_]:
    """Which lonely rows lie so close to the floor, or to the cut to K, that the other side may have dropped them."""
    bounds = [info.score_floor]
    bounds += [float(result.instances.scores[-1]) for result in both if result.cut_to_limit and len(result.instances)]
    return np.asarray(scores <= max(bounds) + SCORE_MARGIN, np.bool_)


def _differences(
    reference: Sequence[TileResult],
    candidate: Sequence[TileResult],
    pairs: Iterable[list[tuple[int, int, float]]],
    column: str,
) -> npt.NDArray[np.float64]:
    """Largest difference of a column for each matched pair."""
    values = [
        np.abs(getattr(a.instances, column)[i].astype(np.float64) - getattr(b.instances, column)[j]).max()
        for a, b, matched in zip(reference, candidate, pairs, strict=True)
        for i, j, _ in matched
    ]
    return np.array(values, np.float64)


def _total(results: Sequence[TileResult], threshold: float) -> int:
    return int(sum((result.instances.scores >= threshold).sum() for result in results))
