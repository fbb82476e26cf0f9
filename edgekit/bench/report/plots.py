"""The plots of the report as SVG text."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from edgekit.errors import MissingDependencyError

Json = Mapping[str, Any]
COLOURS = ("#2f6f4f", "#c2571a", "#3b5b92", "#8a3b6e", "#7a6a1f")
"""Told apart by people who do not see red and green apart; one a model, in their order."""
SIZE_IN = (4.3, 3.1)
"""Drawn at 340 px and less, on a phone: letters of 9 points are 9 px then."""


def all_plots(models: Sequence[Json]) -> list[tuple[str, str, str]]:
    """Every plot for which there are figures: title, what it tells, SVG.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    scored = [model for model in models if model.get("accuracy")]
    timed = [model for model in models if model.get("latency")]
    masked = [model for model in scored if model["accuracy"].get("reliability")]
    plots: list[tuple[str, str, str]] = []
    if len([model for model in scored if model.get("latency")]) > 1:
        plots.append(("Accuracy against cost", "Up and to the left is better.", draw(_against_cost, models)))
    if scored:
        plots.append(("F1 against threshold", "A flat top forgives a threshold that is not quite right.",
                      draw(_sweep("mask_f1", "box_f1", "F1 at IoU 0.5"), scored)))  # fmt: skip
        plots.append(("Precision against recall", "At IoU 0.5; the dot is the threshold of the highest F1.",
                      draw(_precision_recall, scored)))  # fmt: skip
    if masked:
        plots.append(("AJI against threshold", "Share of fruit pixels that are right, over all pictures.",
                      draw(_sweep("aji", "aji", "AJI"), masked)))  # fmt: skip
    dots = "Each dot is a prediction; the steps are means of ten confidence bins (bins of fewer than 10 are left out)."
    plots += [(f"Segmentation reliability: {item['name']}", dots, draw(_reliability, [item])) for item in masked]
    if timed:
        plots.append(("Latency", "Every call, per tile.", draw(_latency, timed)))
    powered = [model for model in models if (model.get("device") or {}).get("power_w")]
    if powered:
        plots.append(("Power over time", "Before 0 the device rests.", draw(_power, powered)))
    return plots


def draw(paint: Callable[[Any, Sequence[Json]], None], models: Sequence[Json]) -> str:
    """Run a painter on fresh axes; SVG text without its XML head."""
    require_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}):
        figure = Figure(figsize=SIZE_IN, layout="constrained")
        axes = figure.add_subplot()
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25, linewidth=0.6)
        paint(axes, models)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    return re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)


def require_matplotlib() -> None:
    """Pass where plots can be drawn.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("matplotlib is not installed", mend="pip install 'edgekit[bench]'") from error


def _colour(models: Sequence[Json], model: Json) -> str:
    return COLOURS[list(models).index(model) % len(COLOURS)]


def _legend(axes: Any, models: Sequence[Json], *, always: bool = False) -> None:
    if len(models) > 1 or always:
        axes.legend(frameon=False, fontsize=8)


def _sweep(name: str, otherwise: str, label: str) -> Callable[[Any, Sequence[Json]], None]:
    def paint(axes: Any, models: Sequence[Json]) -> None:
        for model in models:
            sweeps, figures = model["accuracy"]["sweeps"], model["accuracy"]["figures"]
            key = name if sweeps.get(name) else otherwise
            values = [float("nan") if value is None else value for value in sweeps[key]]
            best, text = figures[key], model["name"]
            if best["at"] is not None:  # in the legend, where the figures of two models never lie upon each other
                axes.plot(best["at"], best["value"], "o", color=_colour(models, model))
                text += f": {best['value']:.3f} at {best['at']:.2f}"
            axes.plot(sweeps["threshold"], values, color=_colour(models, model), label=text)
        axes.set(xlabel="confidence threshold", ylabel=label, xlim=(0, 1), ylim=(0, 1))
        _legend(axes, models, always=True)

    return paint


def _precision_recall(axes: Any, models: Sequence[Json]) -> None:
    for model in models:
        points, counts = model["accuracy"]["precision_recall_iou_50"], model["accuracy"]["counts"]
        axes.plot(points["recall"], points["precision"], color=_colour(models, model), label=model["name"])
        if counts["labels"] and counts["predictions"]:
            axes.plot(counts["found"] / counts["labels"], counts["found"] / counts["predictions"], "o",
                      color=_colour(models, model))  # fmt: skip
    axes.set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1.02))
    _legend(axes, models)


def _reliability(axes: Any, models: Sequence[Json]) -> None:
    pairs = models[0]["accuracy"]["reliability"]
    axes.scatter(
        pairs["confidence"], pairs["best_iou"], s=6, alpha=0.3, linewidths=0, color=COLOURS[0], rasterized=True
    )
    for low, high, _, mean in pairs["bins"]:
        if mean is not None:
            axes.plot([low, high], [mean, mean], color=COLOURS[1], linewidth=2.5)
    if pairs["line"] is not None:
        ends = [0.05, 1.0]
        axes.plot(ends, [pairs["line"]["intercept"] + pairs["line"]["slope"] * x for x in ends], "--", color="#555555")
        low, high = pairs["r_interval_fisher"] or (None, None)
        text = f"R = {pairs['r']:.3f}" + (f" ({low:.3f} to {high:.3f})" if low is not None else "")
        axes.text(0.02, 0.96, f"{text}, n = {pairs['n']}", transform=axes.transAxes, va="top", fontsize=8)
    axes.set(xlabel="confidence", ylabel="best mask IoU", xlim=(0, 1), ylim=(-0.02, 1.02))


def _latency(axes: Any, models: Sequence[Json]) -> None:
    samples = {model["name"]: [ms / model["latency"]["tiles_per_call"] for ms in model["latency"]["samples_ms"]]
               for model in models}  # fmt: skip
    together = sorted(value for values in samples.values() for value in values)
    low, high = together[0], together[min(int(len(together) * 0.99), len(together) - 1)]
    for model in models:
        values = samples[model["name"]]
        axes.hist(values, bins=40, range=(low, high if high > low else low + 1), alpha=0.55,
                  color=_colour(models, model), label=model["name"])  # fmt: skip
        axes.axvline(model["latency"]["tile_ms_median"], color=_colour(models, model), linewidth=1.2)
    axes.set(xlabel="ms a tile (line: median)", ylabel="calls")
    _legend(axes, models)


def _power(axes: Any, models: Sequence[Json]) -> None:
    for model in models:
        device = model["device"]
        axes.plot(device["times_s"], device["power_w"], color=_colour(models, model), label=model["name"])
        if device["idle_w"] is not None:
            axes.axhline(device["idle_w"], color=_colour(models, model), linewidth=0.8, linestyle=":")
    axes.axvline(0, color="#555555", linewidth=0.8)
    axes.set(xlabel="s", ylabel="W (dotted: idle)")
    _legend(axes, models)


def _against_cost(axes: Any, models: Sequence[Json]) -> None:
    for model in models:
        figures = (model.get("accuracy") or {}).get("figures", {})
        figure = figures.get("mask_f1") or figures.get("box_f1") or {}
        if figure.get("value") is None or not model.get("latency"):
            continue
        x, y, colour = model["latency"]["tile_ms_median"], figure["value"], _colour(models, model)
        if figure.get("interval"):
            low, high = figure["interval"]
            axes.plot([x, x], [low, high], color=colour, linewidth=1.5)
        axes.plot(x, y, "o", color=colour, label=model["name"])
    axes.set(xlabel="ms a tile", ylabel="mask F1 (bar: 95 % interval)", ylim=(0, 1))
    axes.set_xlim(left=0)
    axes.margins(x=0.1)
    axes.legend(frameon=False, fontsize=8, loc="lower left")
