"""Two reports, one model each: differences with intervals, and a verdict for each figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from edgekit.errors import MeasurementError

Verdict = Literal["better", "worse", "no evidence"]
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
    """95 %; pictures resampled together for both models. None where it cannot be told."""
    verdict: Verdict
    """Of B; "no evidence" where the interval holds 0 or is not known."""


@dataclass(frozen=True)
class Comparison:
    """Everything that two reports let one say."""

    a: str
    b: str
    differences: tuple[Difference, ...]
    mismatches: tuple[str, ...]
    """Why the two were not measured alike; empty where they were."""


def compare(a: Json, b: Json, *, force: bool = False) -> Comparison:
    """Compare the first models of two reports.

    Raises:
        MeasurementError: other board, power mode, provider or data, and not `force`; the line names them.
    """
    mismatches = tuple(find_mismatches(a, b))
    if mismatches and not force:
        raise MeasurementError(f"not measured alike: {'; '.join(mismatches)}", mend="measure both on one device and "
                               "the same data, or look at the figures anyway with --force")  # fmt: skip
    first, second = a["models"][0], b["models"][0]
    return Comparison(first["name"], second["name"], tuple(compare_models(first, second)), mismatches)


def compare_models(first: Json, second: Json) -> list[Difference]:
    """Every figure that both models have."""
    differences = [_accuracy(name, first, second) for name in HIGHER_IS_BETTER if _value(name, first) is not None]
    if first.get("latency") and second.get("latency"):
        differences.append(_latency(first["latency"], second["latency"]))
    cost: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("energy_j_per_tile", ("device", "energy_j_per_tile")),
        ("peak_host_memory_mb", ("device", "peak_host_memory_mb")),
        ("macs_per_image", ("model", "macs_per_image")),
    )
    for name, path in cost:
        values = [_at(model, path) for model in (first, second)]
        if None not in values:
            differences.append(Difference(name, values[0], values[1], values[1] - values[0], None, "no evidence"))
    return differences


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


def _accuracy(name: str, first: Json, second: Json) -> Difference:
    a, b = _value(name, first), _value(name, second)
    interval = _paired_interval(name, first, second)
    return Difference(name, a, b, None if a is None or b is None else b - a, interval, _verdict(interval, up=True))


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


def _latency(a: Json, b: Json) -> Difference:
    """Difference of the medians a tile, with samples resampled; below 2 % it is not called one."""
    rng = np.random.default_rng(SEED)
    medians = []
    for side in (a, b):
        samples = np.asarray(side["samples_ms"], float) / side["tiles_per_call"]
        medians.append(np.median(rng.choice(samples, (DRAWS, min(len(samples), 500))), axis=1))
    value_a, value_b = a["tile_ms_median"], b["tile_ms_median"]
    interval = _quantiles(medians[1] - medians[0])
    small = abs(value_b - value_a) < LEAST_LATENCY_CHANGE * value_a
    verdict: Verdict = "no evidence" if small else _verdict(interval, up=False)
    return Difference("tile_ms_median", value_a, value_b, value_b - value_a, interval, verdict)


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
