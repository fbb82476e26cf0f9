"""Settings of a fit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FitSettings:
    """How a threshold is fitted, and when it is refused."""

    level: float = 0.95
    """Confidence level of every interval."""
    score_floor: float = 0.05
    """Predictions below it are left out: no model of edgekit returns them, so a table should not either."""
    min_pairs: int = 10
    """Fewer pairs are refused."""
    min_units: int = 5
    """Fewer units (tiles, or pictures that several tiles come from) are refused: their spread cannot be told."""
    draws: int = 1999
    """Draws of the bootstrap over units."""
    seed: int = 0
    """Seed of the bootstrap; the same seed gives the same figures."""
    suspect_confidence: float = 0.7
    """From this confidence on a prediction without a label is suspected to be fruit that nobody labelled."""
    suspect_iou: float = 0.1
    """Below this IoU a confident prediction counts as being without a label."""
    max_suspect_share: float = 0.15
    """More suspects than this share of all pairs are refused: such a line tells of the labels, not of the model."""
    leave_out_suspects: bool = False
    """Fit without the suspects, and say so in the rule, instead of refusing."""
    min_inlier_share: float = 0.5
    """With `leave_out_suspects`: fewer pairs left than this share are refused all the same."""
