"""The panels of the report. Each draws onto one axes of matplotlib, which is loaded only when a report is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgekit.calibration.checks import monotone_fit
from edgekit.calibration.pairs import Floats, Pairs
from edgekit.calibration.planning import sigma_curve
from edgekit.calibration.results import ThresholdFit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE, POINTS, ACTED, OTHER = "#b2182b", "#4d7fb0", "#f4a582", "#5a5a5a"
SHOWN_TILES = 12


def draw_reliability(axes: Axes, pairs: Pairs, fit: ThresholdFit) -> None:
    """Segmentation reliability diagram: pairs, line, monotone fit, target and threshold with its interval."""
    axes.plot(pairs.confidence, pairs.iou, ".", color=POINTS, alpha=0.5, markersize=5, label=f"{fit.n} predictions")
    ends = np.array([pairs.confidence.min(), pairs.confidence.max()])
    axes.plot(ends, fit.b0 + fit.b1 * ends, color=LINE, label=f"IoU = {fit.b0:.2f} + {fit.b1:.2f} confidence")
    steps, fitted = monotone_fit(pairs.confidence, pairs.iou)
    axes.step(steps, fitted, where="post", color=OTHER, linewidth=1, linestyle=":", label="monotone fit")
    axes.axhline(fit.iou_target, color=OTHER, linewidth=0.8)
    axes.axvspan(*fit.uncertainty.acted, color=ACTED, alpha=0.45, label="95 % interval")
    axes.axvline(fit.threshold, color=LINE, linestyle="--", label=f"threshold {fit.threshold:.3f}")
    p_value = "" if fit.p_value is None else f", p = {fit.p_value:.2g}"
    axes.set(xlim=(0, 1), ylim=(-0.02, 1.02), xlabel="confidence", ylabel="mask IoU")
    axes.set_title(f"R = {fit.r:.3f}{p_value}, n = {fit.n} in {fit.tiles} tiles")
    axes.legend(fontsize=7, loc="upper left", framealpha=0.95)


def draw_sigma(axes: Axes, fit: ThresholdFit, sigma_wanted: float | None) -> None:
    """Standard deviation of the threshold against the number of pairs."""
    counts = sorted({*np.geomspace(10, max(4 * fit.n, 200), 40).astype(int).tolist(), fit.n})
    n, by_formula, over_tiles = zip(*sigma_curve(fit, counts), strict=True)
    axes.plot(n, by_formula, color=POINTS, label="equation 7 (pairs independent)")
    axes.plot(n, over_tiles, color=LINE, label="over units, labelled like these")
    axes.plot([fit.n, fit.n], [fit.uncertainty.sigma, fit.uncertainty.sigma_units], "o", color="black", label="now")
    if sigma_wanted is not None:
        axes.axhline(sigma_wanted, color=OTHER, linewidth=0.8, label=f"wanted {sigma_wanted:g}")
    axes.set(xscale="log", yscale="log", xlabel="pairs", ylabel="sigma of the threshold", title="Sigma against n")
    axes.legend(fontsize=7)


def draw_influence(axes: Axes, fit: ThresholdFit) -> None:
    """How far each of the most influential tiles moves the threshold."""
    rows = [row for row in fit.influence if np.isfinite(row.shift)][:SHOWN_TILES][::-1]
    colours = [LINE if row.suspects else POINTS for row in rows]
    axes.barh([row.tile for row in rows], [row.shift for row in rows], color=colours)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.tick_params(axis="y", labelsize=6)
    axes.set(xlabel="moves the threshold by", title="Influence of tiles (red: confident prediction, no label)")


def draw_counts(axes: Axes, fit: ThresholdFit, thresholds: Floats, counts: Floats) -> None:
    """Count of the run against the threshold."""
    axes.plot(thresholds, counts, color=POINTS)
    axes.axvspan(*fit.uncertainty.acted, color=ACTED, alpha=0.45)
    axes.axvline(fit.threshold, color=LINE, linestyle="--")
    axes.set(xlim=(0, 1), ylim=(0, None), xlabel="threshold", ylabel="fruit", title="Count of the run")


def draw_spread(axes: Axes, pairs: Pairs, fit: ThresholdFit) -> None:
    """Confidences of the labelled tiles, in place of the count where no run was named."""
    axes.hist(pairs.confidence, bins=list(np.linspace(0, 1, 21)), color=POINTS)
    axes.axvspan(*fit.uncertainty.acted, color=ACTED, alpha=0.45)
    axes.axvline(fit.threshold, color=LINE, linestyle="--")
    axes.set(xlim=(0, 1), xlabel="confidence", ylabel="predictions", title="Confidences of the labelled tiles")
