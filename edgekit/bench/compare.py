"""Two reports, one model each: differences with intervals, and a verdict for each figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from edgekit.errors import MeasurementError

Verdict = Literal["better", "worse", "no evidence", "not measured in A", "not measured in B"]
Json = Mapping[str, Any]
HIGHER_IS_BETTER = (
    "mask_f1", "aji", "aji_plus", "mask_ap50", "mask_ap50_95", "box_f1", "box_ap50", "box_ap50_95", "r",
)  # fmt: skip
DRAWS = 2000
SEED = 7
LEAST_LATENCY_CHANGE = 0.02
"""A latency difference below 2 % is not called one: runs of the same model differ by as much."""


@dataclass(frozen=True)
class Difference:
    """One figure of B against A."""

    name: str
    a: float | None
    b: float | None
    difference: float | None
    """B - A."""
    interval: tuple[float, float] | None
    """95 %; pictures resampled together for both models. None where it cannot be told, and of exact counts."""
    verdict: Verdict
    """Of B; "no evidence" where both have the figure and the interval holds 0 or is not known."""


@dataclass(frozen=True)
class Comparison:
    """Everything that two reports let one say."""

    a: str
    b: str
    differences: tuple[Difference, ...]
    mismatches: tuple[str, ...]
    """Why the two were not measured alike; empty where they were."""
    remarks: tuple[str, ...] = ()
    """What was not compared."""


def compare(a: Json, b: Json, *, force: bool = False) -> Comparison:
    """Compare the first models of two reports.

    Raises:
        MeasurementError: other board, power mode, provider or data, and not `force`; the line names them. Or no figure
            that both have.
    """
    mismatches = tuple(find_mismatches(a, b))
    if mismatches and not force:
        raise MeasurementError(f"not measured alike: {'; '.join(mismatches)}", mend="measure both on one device and "
                               "the same data, or look at the figures anyway with --force")  # fmt: skip
    first, second = a["models"][0], b["models"][0]
    differences = tuple(compare_models(first, second))
    if all(item.difference is None for item in differences):
        sides = (f"{side} has {_measured(model)}" for side, model in (("A", first), ("B", second)))
        what = f"the two reports have no figure in common: {', '.join(sides)}"
        raise MeasurementError(what, mend="bench both with the same sections and the same data")
    return Comparison(first["name"], second["name"], differences, mismatches, tuple(_left_out(a, b)))


def compare_models(first: Json, second: Json) -> list[Difference]:
    """Every figure that one of the models has."""
    found = [_accuracy(name, first, second) for name in HIGHER_IS_BETTER]
    found.append(_latency(first, second))
    for name, section in (("energy_j_per_tile", "device"), ("peak_host_memory_mb", "device")):
        found.append(_difference(name, *(_at(model, (section, name)) for model in (first, second))))
    found.append(_macs(first, second))
    return [item for item in found if not (item.a is None and item.b is None)]


def find_mismatches(a: Json, b: Json) -> list[str]:
    """In what two reports were not measured alike, in words."""
    found = []
    first, second = a["models"][0], b["models"][0]
    timed = all(model.get("latency") or model.get("device") for model in (first, second))
    for key in ("board", "processor", "cores") if timed else ():  # they do not move accuracy
        found += _differs(key, _at(a, ("environment", key)), _at(b, ("environment", key)))
    same: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("device", ("device", "device")), ("power mode", ("device", "power_mode")),
        ("provider", ("provider", "effective")), ("data", ("accuracy", "data", "digest")),
    )  # fmt: skip
    for name, path in same:
        if all(model.get(path[0]) is not None for model in (first, second)):
            found += _differs(name, _at(first, path), _at(second, path))
    return found


def _differs(name: str, a: Any, b: Any) -> list[str]:
    return [] if a == b else [f"{name} {str(a)[:40]} and {str(b)[:40]}"]


def _measured(model: Json) -> str:
    sections = [name for name in ("model", "latency", "device", "accuracy") if model.get(name)]
    return " and ".join(sections) or "nothing"


def _left_out(a: Json, b: Json) -> Iterator[str]:
    for side, report in (("A", a), ("B", b)):
        others = ", ".join(str(model["name"]) for model in report["models"][1:])
        if others:
            yield f"{side} holds further models, which are not compared: {others}"


def _difference(
    name: str, a: float | None, b: float | None, interval: tuple[float, float] | None = None,
    verdict: Verdict = "no evidence",
) -> Difference:  # fmt: skip
    """A figure of both, or of the one side that was measured."""
    if a is None or b is None:
        return Difference(name, a, b, None, None, "not measured in A" if a is None else "not measured in B")
    return Difference(name, a, b, b - a, interval, verdict)


def _accuracy(name: str, first: Json, second: Json) -> Difference:
    interval = _paired_interval(name, first, second)
    return _difference(name, _value(name, first), _value(name, second), interval, _verdict(interval, up=True))


def _macs(first: Json, second: Json) -> Difference:
    """Counted, not measured: any difference is one, and less is better."""
    a, b = (_at(model, ("model", "macs_per_image")) for model in (first, second))
    alike = a is None or b is None or a == b
    return _difference("macs_per_image", a, b, None, "no evidence" if alike else "better" if b < a else "worse")


def _paired_interval(name: str, first: Json, second: Json) -> tuple[float, float] | None:
    """Both models' draws come from the same pictures: their differences are paired."""
    draws = [_at(model, ("accuracy", "draws")) for model in (first, second)]
    if None in draws or any(draws[0][key] != draws[1][key] for key in ("seed", "pictures")):
        return None
    if _at(first, ("accuracy", "data", "digest")) != _at(second, ("accuracy", "data", "digest")):
        return None
    values = [draw["values"].get(name) for draw in draws]
    if None in values or len(values[0]) != len(values[1]):
        return None
    difference = np.array(values[1], float) - np.array(values[0], float)
    difference = difference[np.isfinite(difference)]
    return _quantiles(difference) if len(difference) else None


def _latency(first: Json, second: Json) -> Difference:
    """Difference of the medians a tile, with samples resampled; below 2 % it is not called one."""
    value_a, value_b = (_at(model, ("latency", "tile_ms_median")) for model in (first, second))
    if value_a is None or value_b is None:
        return _difference("tile_ms_median", value_a, value_b)
    rng = np.random.default_rng(SEED)
    medians = []
    for side in (first["latency"], second["latency"]):
        samples = np.asarray(side["samples_ms"], float) / side["tiles_per_call"]
        medians.append(np.median(rng.choice(samples, (DRAWS, min(len(samples), 500))), axis=1))
    interval = _quantiles(medians[1] - medians[0])
    small = abs(value_b - value_a) < LEAST_LATENCY_CHANGE * value_a
    verdict: Verdict = "no evidence" if small else _verdict(interval, up=False)
    return _difference("tile_ms_median", value_a, value_b, interval, verdict)


def _verdict(interval: tuple[float, float] | None, *, up: bool) -> Verdict:
    if interval is None or interval[0] <= 0 <= interval[1]:
        return "no evidence"
    return "better" if (interval[0] > 0) == up else "worse"


def _quantiles(values: Any) -> tuple[float, float]:
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def _value(name: str, model: Json) -> float | None:
    value = _at(model, ("accuracy", "figures", name, "value"))
    return None if value is None else float(value)


def _at(data: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data
