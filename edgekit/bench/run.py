"""Bench models: every section of every model, on one artifact each, into one report."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from edgekit.bench.accuracy.coco_ap import require_hotcoco
from edgekit.bench.accuracy.objects import Predictions, Truth, predictions_from_instances, truth_from_labels
from edgekit.bench.accuracy_section import accuracy_section, labels_section
from edgekit.bench.artifacts import distinct_names
from edgekit.bench.cost import Json, latency_and_device, model_section, pipeline_section, roofline_section
from edgekit.bench.predict import predict_pictures, require_pictures, sample_tiles
from edgekit.bench.report_file import document
from edgekit.bench.settings import BenchSettings
from edgekit.contracts import ModelInfo, Progress, Segmenter
from edgekit.device.choose import choose_probe
from edgekit.environment import read_environment
from edgekit.errors import EdgekitError
from edgekit.labels import LabelSet, match_classes
from edgekit.segment import SegmenterSettings, open_segmenter

FULL_AP_FLOOR = 0.005
"""A graph with a higher score floor loses AP: 0.05 costs 0.4 to 0.7 points, F1, AJI and R nothing (docs/bench.md)."""


@dataclass(frozen=True)
class BenchData:
    """Labelled pictures to judge accuracy on."""

    labels: LabelSet
    images: Path
    class_map: Mapping[str, str] = field(default_factory=dict)
    """Label class -> model class where names differ; `*` stands for all others."""
    ignore_classes: tuple[str, ...] = ()
    """Label classes that are ignored regions."""


@dataclass(frozen=True, eq=False)
class ModelRun:
    """One model's section of the report, and what it is drawn from."""

    section: Json
    truth: Truth | None = None
    predictions: Predictions | None = None


def bench_models(
    models: Sequence[Path], data: BenchData | None, engine: SegmenterSettings, settings: BenchSettings,
    *, progress: Progress,
) -> tuple[Json, list[ModelRun]]:  # fmt: skip
    """Bench every model; the report as plain JSON types, and what pictures are drawn from.

    Raises:
        ModelError, ContractError, ProviderError: a model that cannot be used.
        LabelsError: labels that do not fit the pictures or the model's classes.
    """
    if data is not None and "accuracy" in settings.sections:
        require_pictures(data.labels, data.images)
        require_hotcoco()
    names = distinct_names(models)
    runs = [
        bench_model(path, data, engine, settings, progress=progress, name=name)
        for path, name in zip(models, names, strict=True)
    ]
    return document([run.section for run in runs], None if data is None else labels_section(data.labels)), runs


def bench_model(
    path: Path, data: BenchData | None, engine: SegmenterSettings, settings: BenchSettings,
    *, progress: Progress, name: str,
) -> ModelRun:  # fmt: skip
    """Bench one model; `name` is what the report calls it."""
    started = time.perf_counter()
    segmenter = open_segmenter(path, settings=engine)
    opened_ms = (time.perf_counter() - started) * 1e3
    try:
        section: Json = {
            "name": name, "file": path.name, "info": asdict(segmenter.info),
            "model_id": segmenter.info.model_id, "provider": asdict(segmenter.provider),
        }  # fmt: skip
        if "model" in settings.sections:
            progress(f"{name}: MACs and parameters", 0)
            section["model"] = model_section(path, segmenter)
        truth = None  # before anything is measured: labels that do not fit are told at once
        if data is not None and "accuracy" in settings.sections:
            truth = _truth(segmenter.info, data)
        if {"latency", "device"} & set(settings.sections):
            macs = section.get("model", {}).get("macs")
            told = _named(progress, name)
            section |= _cost_sections(path, segmenter, (opened_ms, macs), settings, engine=engine, progress=told)
        if data is not None and truth is not None:
            return _with_accuracy(section, segmenter, (truth, data), settings, progress=progress)
        return ModelRun(section)
    finally:
        segmenter.close()


def _cost_sections(
    path: Path, segmenter: Segmenter, known: tuple[float, float | None], settings: BenchSettings,
    *, engine: SegmenterSettings, progress: Progress,
) -> Json:  # fmt: skip
    """Latency and device; `known` is the time that opening took, ms, and the MACs of a call where they were counted."""
    opened_ms, macs = known
    tiles = sample_tiles(segmenter.info.tile_size_px)
    probe, instead = choose_probe(read_environment(), segmenter.provider.effective)
    try:
        latency, device = latency_and_device(segmenter, tiles, opened_ms, probe, settings, progress=progress)
    finally:
        probe.close()
    if instead:
        device["instead_of_gpu"] = instead
    sections: Json = {"device": device} if "device" in settings.sections else {}
    if "latency" in settings.sections:
        progress("peaks of the processor", 0)
        latency["roofline"] = roofline_section(macs, latency["call_ms"]["median_ms"])
        told = _named(progress, "whole run on the demo row")
        asked = replace(engine, provider=segmenter.provider.requested, allow_cpu_fallback=True)
        latency["pipeline"] = _pipeline(path, asked, progress=told) if settings.pipeline else None
        sections["latency"] = latency
    return sections


def _pipeline(path: Path, engine: SegmenterSettings, *, progress: Progress) -> Json:
    try:
        return pipeline_section(path, engine, progress=progress)
    except EdgekitError as error:
        return {"reason": error.what}


def _named(progress: Progress, name: str) -> Progress:
    """Progress whose stages have a name in front."""
    return lambda stage, done, total=None: progress(f"{name}: {stage}", done, total)


def _truth(info: ModelInfo, data: BenchData) -> Truth:
    ignored = frozenset(data.ignore_classes)
    kept = data.labels.with_ignored_classes(data.ignore_classes)
    scored = dict.fromkeys(ignored, info.class_names[0]) | dict(data.class_map)
    return truth_from_labels(kept, info.class_names, match_classes(kept, info.class_names, scored), any_class=ignored)


def _with_accuracy(
    section: Json, segmenter: Segmenter, judged_by: tuple[Truth, BenchData], settings: BenchSettings,
    *, progress: Progress,
) -> ModelRun:  # fmt: skip
    info = segmenter.info
    truth, data = judged_by
    found, tiles, remarks = predict_pictures(segmenter, data.labels, data.images, progress=progress)
    predictions = predictions_from_instances(found)
    if info.score_floor > FULL_AP_FLOOR:
        remarks.append(
            f"the graph returns scores from {info.score_floor:g} on: AP lacks what lies below (half a point)"
        )
    section["accuracy"] = accuracy_section(truth, predictions, settings.accuracy, remarks=remarks)
    section["accuracy"]["tiles"] = tiles
    return ModelRun(section, truth, predictions)
