"""Two reports, model by model: differences with intervals, and a verdict for each figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
class ModelComparison:
    """A model of A and one of B."""

    a: str
    b: str
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class Comparison:
    """Everything that two reports let one say."""

    pairs: tuple[ModelComparison, ...]
    """The models of one name, in A's order; the only model of each where both have just one."""
    only_in_a: tuple[str, ...]
    only_in_b: tuple[str, ...]
    """Names of the models that have no counterpart in the other report."""
    mismatches: tuple[str, ...]
    """Why they were not measured alike; empty where they were."""
    remarks: tuple[str, ...] = ()
    """What was not compared, and why."""


def compare(a: Json, b: Json, *, force: bool = False) -> Comparison:
    """Compare the models of two reports, by their names.

    Raises:
        MeasurementError: other board, power mode, provider or data, and not `force`; the line names them. Or no model
            that both have, or no figure.
    """
    pairs, only_in_a, only_in_b = _paired(a["models"], b["models"])
    mismatches = tuple(find_mismatches(a, b, pairs))
    if mismatches and not force:
        raise MeasurementError(f"not measured alike: {'; '.join(mismatches)}", mend="measure both on one device and "
                               "the same data, or look at the figures anyway with --force")  # fmt: skip
    compared = tuple(
        ModelComparison(first["name"], second["name"], tuple(compare_models(first, second))) for first, second in pairs
    )
    empty = [_nothing_in_common(first, second) for (first, second), found in zip(pairs, compared, strict=True)
             if all(item.difference is None for item in found.differences)]  # fmt: skip
    if len(empty) == len(pairs):
        raise MeasurementError("; ".join(empty), mend="bench both with the same sections and the same data")
    missing = [f"{name} is in {side} alone, and not compared" for side, names in (("A", only_in_a), ("B", only_in_b))
               for name in names]  # fmt: skip
    return Comparison(compared, only_in_a, only_in_b, mismatches, (*missing, *empty))


def compare_models(first: Json, second: Json) -> list[Difference]:
    """Every figure that one of the models has."""
    found = [_accuracy(name, first, second) for name in HIGHER_IS_BETTER]
    found.append(_latency(first, second))
    for name, section in (("energy_j_per_tile", "device"), ("peak_host_memory_mb", "device")):
        found.append(_difference(name, *(_at(model, (section, name)) for model in (first, second))))
    found.append(_macs(first, second))
    return [item for item in found if not (item.a is None and item.b is None)]


def find_mismatches(a: Json, b: Json, pairs: Sequence[tuple[Json, Json]]) -> list[str]:
    """In what the models of two reports were not measured alike, in words; what holds for all of them is said once."""
    by_pair = [list(_unlike(pair, (a, b))) for pair in pairs]
    found: dict[str, None] = {}
    for (first, _), texts in zip(pairs, by_pair, strict=True):
        for text in texts:
            of_all = all(text in others for others in by_pair)
            found[text if of_all else f"{first['name']}: {text}"] = None
    return list(found)


def _paired(a: Sequence[Json], b: Sequence[Json]) -> tuple[list[tuple[Json, Json]], tuple[str, ...], tuple[str, ...]]:
    """Models of one name, and the names that only one side has."""
    if len(a) == len(b) == 1:
        return [(a[0], b[0])], (), ()
    in_a, in_b = ({model["name"]: model for model in models} for models in (a, b))
    pairs = [(model, in_b[name]) for name, model in in_a.items() if name in in_b]
    if not pairs:
        raise MeasurementError(
            f"the two reports have no model in common: A has {', '.join(in_a)}; B has {', '.join(in_b)}",
            mend="models are matched by name: bench files of one name, or one model into each report",
        )
    return pairs, tuple(name for name in in_a if name not in in_b), tuple(name for name in in_b if name not in in_a)


def _unlike(pair: tuple[Json, Json], reports: tuple[Json, Json]) -> list[str]:
    first, second = pair
    found = []
    timed = all(model.get("latency") or model.get("device") for model in pair)
    for key in ("board", "processor", "cores") if timed else ():  # they do not move accuracy
        found += _differs(key, *(_at(report, ("environment", key)) for report in reports))
    same: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("device", ("device", "device")), ("power mode", ("device", "power_mode")),
        ("provider", ("provider", "effective")), ("data", ("accuracy", "data", "digest")),
    )  # fmt: skip
    for name, path in same:
        if all(model.get(path[0]) is not None for model in pair):
            found += _differs(name, _at(first, path), _at(second, path))
    return found


def _differs(name: str, a: Any, b: Any) -> list[str]:
    return [] if a == b else [f"{name} {str(a)[:40]} and {str(b)[:40]}"]


def _nothing_in_common(first: Json, second: Json) -> str:
    sides = (f"{side} has {_measured(model)}" for side, model in (("A", first), ("B", second)))
    names = " and ".join(dict.fromkeys([first["name"], second["name"]]))
    return f"{names}: no figure in common, {', '.join(sides)}"


def _measured(model: Json) -> str:
    sections = [name for name in ("model", "latency", "device", "accuracy") if model.get(name)]
    return " and ".join(sections) or "nothing"


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
