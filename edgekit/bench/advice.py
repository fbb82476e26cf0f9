"""Which model to deploy, and why, in words that need no knowledge of the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from edgekit.bench.compare import Difference, compare_models
from edgekit.wording import counted

Json = Mapping[str, Any]
RESULTS = "results"
"""Kind of a report's entry that is the scored results of another tool, no model."""


@dataclass(frozen=True)
class Advice:
    """A choice and its reasons."""

    model: str | None
    """Name of the model; None where nothing can be said."""
    reasons: tuple[str, ...]
    scored: str | None = None
    """Name of the results of another tool, where they are all there is: nothing was to be chosen or deployed."""

    @property
    def heading(self) -> str:
        """The choice in a line."""
        return f"Deploy: {self.model or 'undecided'}" if self.scored is None else f"Scored: {self.scored}"


def advise(models: Sequence[Json]) -> Advice:
    """Choose among the models of a report.

    Models that keep up with the planned speed come before those that do not. Among them the highest mask F1 wins;
    models that are not told apart from it (paired intervals hold 0) are as good, and the fastest of these is chosen.
    Without accuracy the fastest is chosen.
    """
    if not models:
        return Advice(None, ("no model was measured",))
    chosen = _choose(models)
    if len(models) == 1 and models[0].get("kind") == RESULTS:
        return replace(chosen, scored=models[0]["name"])
    alone = ("it is the only model here: bench others beside it to choose",) if len(models) == 1 else ()
    return replace(chosen, reasons=(*chosen.reasons, *(alone if chosen.model and _f1(models[0]) else ())))


def _choose(models: Sequence[Json]) -> Advice:
    fit = [model for model in models if _keeps_up(model) is not False]
    pool = fit or list(models)
    reasons = [] if fit else ["no model keeps up with the planned speed: go slower, or use a faster device"]
    reasons += [
        f"{model['name']} is too slow: {_speed_text(model)}" for model in models if _keeps_up(model) is False and fit
    ]
    scored = [model for model in pool if _f1(model) is not None]
    if not scored:
        fastest = min(pool, key=_tile_ms)
        if any(model.get("accuracy") for model in pool):
            return Advice(None, (*reasons, "neither labels nor predictions hold an object: nothing can be judged"))
        if _tile_ms(fastest) == float("inf"):
            return Advice(None, (*reasons, "neither accuracy nor latency was measured"))
        return Advice(fastest["name"], (*reasons, f"it is the fastest ({_tile_ms(fastest):.1f} ms a tile)",
                                        "accuracy was not measured: give --data and --images"))  # fmt: skip
    best = max(scored, key=lambda model: _f1(model) or 0.0)
    if not _f1(best):
        return Advice(
            None, (*reasons, "nothing that was labelled is found: do labels and model mean the same objects?")
        )
    equals = [model for model in scored if model is best or not _told_apart(best, model)]
    chosen = min(equals, key=_tile_ms)
    return Advice(chosen["name"], (*reasons, *_why(chosen, best, scored)))


def _why(chosen: Json, best: Json, scored: Sequence[Json]) -> list[str]:
    counts = chosen["accuracy"]["counts"]
    words = (
        f"it finds {counts['found']} of {counts['labels']} labelled fruit with "
        f"{counted(counts['false_alarms'], 'false alarm')} at confidence {counts['threshold']:.2f} ({_f1_text(chosen)})"
    )
    reasons = [words]
    if chosen is not best:
        speed = f"{_tile_ms(chosen):.1f} against {_tile_ms(best):.1f} ms a tile"
        reasons.append(f"{best['name']} has {_f1(best):.3f}, but the pictures do not tell them apart; faster: {speed}")
    others = [other for other in scored if other is not chosen and other is not best]
    reasons += [_beside(chosen, other) for other in others]
    if _keeps_up(chosen):
        reasons.append(f"it keeps up: {_speed_text(chosen)}")
    return reasons


def _beside(chosen: Json, other: Json) -> str:
    """What speaks against another model."""
    counts = other["accuracy"]["counts"]
    found = f"{counts['found']} found, {counted(counts['false_alarms'], 'false alarm')}"
    is_what = "is less accurate" if _told_apart(chosen, other) else "is not told apart, but not faster"
    return f"{other['name']} {is_what}: {found}, {_f1_text(other)}{_interval_text(chosen, other)}"


def _told_apart(best: Json, other: Json) -> bool:
    found = _f1_difference(best, other)
    return found is not None and found.verdict == "worse"


def _f1_difference(one: Json, other: Json) -> Difference | None:
    """In the F1 of masks, or of boxes where one of the two has no masks."""
    found = {item.name: item for item in compare_models(one, other) if item.difference is not None}
    return found.get("mask_f1") or found.get("box_f1")


def _interval_text(chosen: Json, other: Json) -> str:
    found = _f1_difference(chosen, other)
    if found is None or found.interval is None:
        return ""
    return f" (difference {found.difference:+.3f}, 95 % interval {found.interval[0]:+.3f} to {found.interval[1]:+.3f})"


def _f1(model: Json) -> float | None:
    figures = (model.get("accuracy") or {}).get("figures", {})
    for name in ("mask_f1", "box_f1"):
        value = figures.get(name, {}).get("value")
        if value is not None:
            return float(value)
    return None


def _f1_text(model: Json) -> str:
    kind = "mask" if model["accuracy"].get("mask") else "box"
    return f"{kind} F1 {_f1(model):.3f}"


def _tile_ms(model: Json) -> float:
    latency = model.get("latency") or {}
    return float(latency.get("tile_ms_median", float("inf")))


def _keeps_up(model: Json) -> bool | None:
    trolley = (model.get("latency") or {}).get("trolley")
    return None if trolley is None else bool(trolley["real_time_factor"] <= 1)


def _speed_text(model: Json) -> str:
    trolley = model["latency"]["trolley"]
    return f"up to {trolley['highest_speed_m_s']:.2f} m/s, planned {trolley['settings']['speed_m_s']:.2f} m/s"
