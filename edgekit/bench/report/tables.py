"""The tables of a report, as rows of text that Markdown, the terminal and the web page share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from edgekit.wording import counted

Json = Mapping[str, Any]
Table = list[list[str]]
YOLO_FIGURES = ("map50", "map50_95", "precision", "recall", "f1")
CALL_FIGURES = ("median_ms", "p90_ms", "p95_ms", "p99_ms", "min_ms", "max_ms", "jitter_ms")


def overview(models: Sequence[Json]) -> Table:
    """A row a model: what decides."""
    rows = [["model", "fruit found", "false alarms", "mask F1", "AJI", "mask AP@50-95", "R", "ms a tile", "top speed",
             "J a tile", "memory", "GMAC", "M params"]]  # fmt: skip
    rows += [_overview_row(model) for model in models]
    used = [column for column in range(len(rows[0])) if column == 0 or any(row[column] != "-" for row in rows[1:])]
    return [[row[column] for column in used] for row in rows]


def _overview_row(model: Json) -> list[str]:
    accuracy, latency = model.get("accuracy") or {}, model.get("latency") or {}
    device, cost = model.get("device") or {}, model.get("model") or {}
    figures, counts = accuracy.get("figures", {}), accuracy.get("counts")
    speed = latency.get("trolley", {}).get("highest_speed_m_s")
    memory = device.get("peak_device_memory_mb") or device.get("peak_host_memory_mb")
    return [
        str(model["name"]),
        f"{counts['found']} of {counts['labels']}" if counts else "-",
        str(counts["false_alarms"]) if counts else "-",
        *(with_interval(figures.get(name)) for name in ("mask_f1", "aji", "mask_ap50_95", "r")),
        number(latency.get("tile_ms_median"), 1),
        number(speed, 2, " m/s"),
        number(device.get("energy_j_per_tile"), 2),
        number(memory, 0, " MB"),
        number(_scaled(cost.get("macs_per_image"), 1e9), 2),
        number(_scaled(cost.get("parameters"), 1e6), 1),
    ]


def accuracy_table(model: Json) -> Table:
    """Every accuracy figure of a model, each by its name and rule."""
    accuracy = model["accuracy"]
    rows = [["figure", "value", "95 % interval", "at threshold"]]
    for name, figure in accuracy["figures"].items():
        interval = figure.get("interval")
        between = f"{interval[0]:.3f} to {interval[1]:.3f}" if interval else "-"
        rows.append([name, number(figure["value"], 4), between, number(figure.get("at"), 2)])
    for kind in ("box", "mask"):
        coco = (accuracy.get(kind) or {}).get("coco") or {}
        rows += [
            [f"COCO {kind} {name}", number(value, 4), "-", "-"]
            for name, value in coco.items() if isinstance(value, float) or (value is None and name.startswith("a"))
        ]  # fmt: skip
    rules, counts = accuracy["by_other_rules"], accuracy["counts"]
    for kind in ("box", "mask"):
        rows.append([f"{kind} AP, free of the order of ties", number(rules[f"{kind}_ap_tie_free"], 4), "-", "-"])
        for figures in rules[f"yolo_{kind}"]:
            at = number(figures["confidence"], 3)
            rows += [[f"{figures['rule']} {kind} {name}", number(figures[name], 4), "-", at] for name in YOLO_FIGURES]
    at = number(rules["threshold"], 2)
    rows += [
        [f"EdgeFirst pixel {name}", number(value, 4), "-", at] for name, value in rules["edgefirst_pixels"].items()
    ]
    for way, figures in (rules["egomaize"] or {}).items():
        if isinstance(figures, Mapping):
            rows += [[f"EgoMaize ({way.replace('_', ' ')}) {name}", number(value, 4), "-", at]
                     for name, value in figures.items() if not isinstance(value, Mapping)]  # fmt: skip
    rows += [["mean absolute count error a picture", number(counts["mean_absolute_count_error"], 3), "-", at],
             ["count bias", number(counts["count_bias"], 4), "-", at]]  # fmt: skip
    return rows


def latency_table(model: Json) -> Table:
    """Latency, stages and the roofline of a model."""
    latency = model["latency"]
    call = latency["call_ms"]
    rows = [["latency", "value"]]
    calls = f"{counted(call['n'], 'call')} of {counted(latency['tiles_per_call'], 'tile')}"
    rows += [[f"{name.removesuffix('_ms')} of {calls}", number(call[name], 2, " ms")] for name in CALL_FIGURES]
    rows += [["first result, opening included", number(latency["first_result_ms"], 0, " ms")]]
    rows += [
        [f"tiles a second, {size} a call", number(value, 2)]
        for size, value in latency["tiles_per_s_by_call_size"].items()
    ]
    inside = latency.get("stages_ms_per_tile") or {}
    rows += [[f"{name} of a tile", number(ms, 2, " ms")] for name, ms in inside.items()]
    trolley = latency["trolley"]
    planned = f"planned {trolley['settings']['speed_m_s']} m/s"
    rows += [["tiles a metre, all cameras", number(trolley["tiles_per_metre"], 1)],
             ["top speed of the trolley", number(trolley["highest_speed_m_s"], 3, " m/s")],
             [f"real-time factor ({planned}; below 1 keeps up)", number(trolley["real_time_factor"], 2)]]  # fmt: skip
    pipeline = latency.get("pipeline") or {}
    rows += [
        [f"pipeline: {name}", number(ms, 2, " ms a tile")]
        for name, ms in pipeline.get("stages_ms_per_tile", {}).items()
    ]
    if pipeline.get("tiles_per_s"):
        rows.append(["pipeline: tiles a second, everything", number(pipeline["tiles_per_s"], 2)])
    roof = latency.get("roofline") or {}
    if roof:
        rows += [["peak of the matrix product here", number(roof["peak_gmac_s"], 1, " GMAC/s")],
                 ["peak of a copy here", number(roof["copy_gb_s"], 1, " GB/s")]]  # fmt: skip
    if roof.get("model"):
        point = roof["model"]
        rows.append(["reached", f"{point['reached_gmac_s']:.1f} GMAC/s, {point['fraction_of_peak']:.0%} of the peak"])
    return rows


def device_table(model: Json) -> Table:
    """What the device spent; what it does not give has its reason."""
    device = model["device"]
    rows = [["device", str(device["device"])], ["read by", str(device["source"])]]
    rows.append(["power mode", str(device["power_mode"] or "-")])
    for name, unit, digits in (
        ("idle_w", " W", 2), ("mean_w", " W", 2), ("energy_j_per_tile", " J", 3),
        ("energy_above_idle_j_per_tile", " J", 3),
        ("energy_j_per_metre", " J", 1), ("peak_device_memory_mb", " MB", 0), ("peak_host_memory_mb", " MB", 0),
        ("start_temperature_c", " C", 1), ("peak_temperature_c", " C", 1), ("start_clock_mhz", " MHz", 0),
        ("end_clock_mhz", " MHz", 0), ("mean_load", "", 2),
    ):  # fmt: skip
        rows.append([name, number(device[name], digits, unit)])
    rows.append(["throttled", ", ".join(device["throttle_reasons"]) or "no sign of it"])
    rows += [[f"no {quantity}", reason] for quantity, reason in device["missing"].items()]
    return rows


def parts_table(model: Json) -> Table:
    """MACs by part, and what was not counted."""
    cost = model["model"]
    if cost.get("macs") is None:
        return [["MACs", str(cost.get("reason", "-"))]]
    rows = [["part", "GMAC", "share"]]
    rows += [[name, number(macs / 1e9, 3), f"{macs / cost['macs']:.0%}" if cost["macs"] else "-"]
             for name, macs in cost["macs_by_part"].items() if macs]  # fmt: skip
    rows.append(["all, of one call", number(cost["macs"] / 1e9, 3), "100%"])
    if cost["macs_per_proposal"] is not None:
        rows.append(["fixed part", number(cost["macs_fixed"] / 1e9, 3), "-"])
        rows.append(["for each proposal", number(cost["macs_per_proposal"] / 1e9, 5), "-"])
    if cost["macs_per_mask"] is not None:
        rows.append(["for each mask", number(cost["macs_per_mask"] / 1e9, 5), "-"])
    listed = ", ".join(f"{name} {count}" for name, count in cost["not_counted"].items())
    rows.append(["not counted (no multiply-accumulates)", listed, "-"])
    return rows


def with_interval(figure: Json | None) -> str:
    """A value with its interval, short."""
    if not figure or figure.get("value") is None:
        return "-"
    interval = figure.get("interval")
    return f"{figure['value']:.3f}" + (f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else "")


def number(value: Any, digits: int, unit: str = "") -> str:
    """A number with so many digits, or a dash."""
    return "-" if value is None else f"{float(value):,.{digits}f}{unit}"


def _scaled(value: Any, unit: float) -> float | None:
    return None if value is None else float(value) / unit


SECTION_TABLES: tuple[tuple[str, str, Callable[[Json], Table]], ...] = (
    ("accuracy", "Accuracy", accuracy_table),
    ("latency", "Latency", latency_table),
    ("device", "Device", device_table),
    ("model", "Model: MACs and parameters", parts_table),
)
"""Sections of a model in a report: name, title and table."""
