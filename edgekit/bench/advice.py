"""Which model to deploy, and why, in words that need no knowledge of the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from edgekit.bench.compare import Difference, compare_models
from edgekit.bench.latency.spread import spread_share
from edgekit.bench.latency.trolley import TrolleySettings
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

    Models that keep up with the planned speed come before those that do not, where the spread of their latency leaves
    no doubt. Among them the highest mask F1 wins; models that are not told apart from it (paired intervals hold 0) are
    as good, and the fastest of these is chosen, where it is faster by more than latencies vary. Without accuracy the
    fastest is chosen.
    """
    if not models:
        return Advice(None, ("no model was measured",))
    chosen = _choose(models)
    if len(models) == 1 and models[0].get("kind") == RESULTS:
        return replace(chosen, scored=models[0]["name"])
    alone = ("it is the only model here: bench others beside it to choose",) if len(models) == 1 else ()
    return replace(chosen, reasons=(*chosen.reasons, *(alone if chosen.model and _f1(models[0]) else ())))


def _choose(models: Sequence[Json]) -> Advice:
    fit = [model for model in models if _keeps_up(model) != "no"]
    pool = fit or list(models)
    reasons = [] if fit else ["no model keeps up with the planned speed: go slower, or use a faster device"]
    reasons += [
        f"{model['name']} is too slow: {_speed_text(model)}" for model in models if _keeps_up(model) == "no" and fit
    ]
    scored = [model for model in pool if _f1(model) is not None]
    if not scored:
        fastest = min(pool, key=_tile_ms)
        if any(model.get("accuracy") for model in pool):
            return Advice(None, (*reasons, "neither labels nor predictions hold an object: nothing can be judged"))
        if _tile_ms(fastest) == float("inf"):
            return Advice(None, (*reasons, "neither accuracy nor latency was measured"))
        lead = _no_difference(fastest, _as_fast(fastest, pool), "accuracy was not measured")
        lead = lead or [f"it is the fastest ({_tile_ms(fastest):.1f} ms a tile)"]
        return Advice(fastest["name"], (*reasons, *lead, "accuracy was not measured: give --data and --images"))
    best = max(scored, key=lambda model: _f1(model) or 0.0)
    if not _f1(best):
        return Advice(
            None, (*reasons, "nothing that was labelled is found: do labels and model mean the same objects?")
        )
    equals = [model for model in scored if model is best or not _told_apart(best, model)]
    fastest = min(equals, key=_tile_ms)
    alike = _as_fast(fastest, equals)
    chosen = best if best in alike else fastest
    return Advice(chosen["name"], (*reasons, *_why(chosen, best, scored, alike)))


def _why(chosen: Json, best: Json, scored: Sequence[Json], alike: Sequence[Json]) -> list[str]:
    counts = chosen["accuracy"]["counts"]
    words = (
        f"it finds {counts['found']} of {counts['labels']} labelled fruit with "
        f"{counted(counts['false_alarms'], 'false alarm')} at confidence {counts['threshold']:.2f} ({_f1_text(chosen)})"
    )
    reasons = [*_no_difference(chosen, alike, "the pictures do not tell them apart"), words]
    if chosen is not best:
        speed = f"{_tile_ms(chosen):.1f} against {_tile_ms(best):.1f} ms a tile"
        reasons.append(f"{best['name']} has {_f1(best):.3f}, but the pictures do not tell them apart; faster: {speed}")
    others = [other for other in scored if other is not best and other not in alike]
    reasons += [_beside(chosen, other) for other in others]
    if (keeps_up := _keeps_up(chosen)) in ("yes", "unsure"):
        doubt = f"whether it keeps up cannot be told, its latency varies by {_spread(chosen):.0%}"
        reasons.append(f"{'it keeps up' if keeps_up == 'yes' else doubt}: {_speed_text(chosen)}")
    return reasons


def _no_difference(chosen: Json, alike: Sequence[Json], because: str) -> list[str]:
    """That other models would do as well, where some would."""
    others = [model for model in alike if model is not chosen]
    if not others:
        return []
    names = ", ".join(model["name"] for model in others)
    if _tile_ms(chosen) == float("inf"):
        return [f"no difference shown to {names}: {because}, and latency was not measured"]
    times = ", ".join(f"{_tile_ms(model):.1f}" for model in (chosen, *others))
    widest = max(_spread(model) for model in alike)
    return [
        f"no difference shown to {names}: {because}, and their latencies ({times} ms a tile) differ by less than they"
        f" vary ({widest:.0%}); either will do"
    ]


def _as_fast(fastest: Json, models: Sequence[Json]) -> list[Json]:
    """The models whose latency is not told apart from that of the fastest, which is one of them."""
    least = _tile_ms(fastest)
    if least == float("inf"):
        return list(models)
    return [
        model for model in models
        if _tile_ms(model) - least <= max(_spread(model) * _tile_ms(model), _spread(fastest) * least)
        and _tile_ms(model) < float("inf")
    ]  # fmt: skip


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


def _spread(model: Json) -> float:
    """Of its latency, as a share of it; 0 where it was not measured."""
    return spread_share((model.get("latency") or {}).get("samples_ms") or [])


def _keeps_up(model: Json) -> Literal["yes", "unsure", "no"] | None:
    """With the planned speed; None where latency was not measured."""
    trolley = (model.get("latency") or {}).get("trolley")
    if trolley is None:
        return None
    work, spread = float(trolley["real_time_factor"]), _spread(model)
    if work * (1 + spread) <= 1:
        return "yes"
    return "no" if work * (1 - spread) > 1 else "unsure"


def _speed_text(model: Json) -> str:
    trolley = model["latency"]["trolley"]
    planned = trolley["settings"]["speed_m_s"]
    whose = "the default of --speed" if planned == TrolleySettings.speed_m_s else "--speed"
    return f"up to {trolley['highest_speed_m_s']:.2f} m/s, planned {planned:.2f} m/s ({whose})"
