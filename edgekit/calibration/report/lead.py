"""The first lines of the report, for a person who has read no paper: what to set, how sure it is, what to do next."""

from __future__ import annotations

import math
from collections.abc import Iterator

from edgekit.calibration.count_effect import CountEffect
from edgekit.calibration.planning import plan_labels
from edgekit.calibration.results import ThresholdFit
from edgekit.wording import counted

PANELS = (
    (
        "Confidence against mask IoU",
        "Each dot is a checked prediction: further right the model was surer, further up the outline is better. "
        "Dots at the bottom found no fruit. Where the line reaches the wanted IoU lies the threshold.",
    ),
    (
        "Sigma against n",
        "How far the threshold would move if other tiles had been labelled, against the number of predictions checked. "
        "Red is the honest curve: predictions of one place are alike.",
    ),
    (
        "Influence of tiles",
        "How far single tiles pull the threshold. One that stands out deserves a second look; red tiles hold confident "
        "predictions that overlap no label, which often is fruit that nobody labelled.",
    ),
)
"""Title and explanation of the first three panels, in their order."""
COUNT_PANEL = (
    "What the threshold does",
    "The shaded band is the interval: where the curve is flat there, the count hardly depends on the threshold.",
)
"""The fourth, where a run was named."""
SPREAD_PANEL = (
    "Confidences of the labelled tiles",
    "How many predictions there are at each confidence: with few in the shaded band, the interval, it hardly matters "
    "where in it the threshold lies. Name the run (--run) to see its count in place of this.",
)
"""The fourth, where none was."""


def headline(fit: ThresholdFit) -> str:
    """What to set."""
    low, high = fit.uncertainty.acted
    return f"Count fruit from confidence {fit.threshold:.2f} on ({low:.2f} to {high:.2f})"


def lead_lines(fit: ThresholdFit, counts: CountEffect | None) -> Iterator[str]:
    """What it means, what it does to the count, and what would make it surer."""
    yield (
        f"From there on a predicted outline is expected to overlap the real fruit with an IoU of {fit.iou_target:g} or "
        f"more. Other tiles of the same season could have put it anywhere in the brackets (95 %)."
    )
    if counts is not None:
        span = f"{counts.fruit_at_high} to {counts.fruit_at_low}"
        yield (
            f"This run has {counts.fruit} fruit at that threshold, and {span} over the brackets "
            f"({counts.fruit_before} at the {counts.before:g} that it was counted with)."
        )
    strength = "strong" if fit.r >= 0.7 else "fair" if fit.r >= 0.5 else "weak"
    yield (
        f"Confidence is a {strength} sign of a good outline here (R = {fit.r:.2f}); checked were "
        f"{counted(fit.n, 'prediction')} in {counted(fit.tiles, 'tile')}."
    )
    plan = plan_labels(fit, fit.uncertainty.sigma_units / math.sqrt(2))
    yield f"To make the brackets narrower by 30 %, label {counted(plan.more_tiles, 'more tile')}."
    yield from fit.warnings
