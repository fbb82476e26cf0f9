"""The sections model, latency and device of a report, as plain JSON types."""

from __future__ import annotations

import hashlib
import itertools
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgekit.bench.device.readings import DeviceSummary, Watch, watching
from edgekit.bench.latency.measure import Timed, measure
from edgekit.bench.latency.roofline import measure_roofline, place
from edgekit.bench.latency.samples import summarise
from edgekit.bench.latency.stability import judge_stability
from edgekit.bench.latency.trolley import trolley_speed
from edgekit.bench.settings import BenchSettings
from edgekit.contracts import Progress, Segmenter, no_progress
from edgekit.device.reading import DeviceProbe
from edgekit.errors import EdgekitError
from edgekit.graph.macs import graph_cost
from edgekit.segment import SegmenterSettings
from edgekit.segment.stage_times import StageTimes
from edgekit.wording import counted

FIRST_CALLS = 10
"""Calls of the warm-up that the report shows."""
Json = dict[str, Any]


def model_section(path: Path, segmenter: Segmenter) -> Json:
    """MACs and parameters of the graph; where it is no ONNX graph, None with the reason."""
    info = segmenter.info
    common = {"file_mb": path.stat().st_size / 2**20, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    if path.suffix != ".onnx":
        return common | {"macs": None, "reason": f"MACs are counted on ONNX graphs, {path.suffix} is none"}
    two_stage = info.proposals is not None
    try:
        cost = graph_cost(path, proposals=info.proposals, detections=info.max_detections if two_stage else None)
    except EdgekitError as error:
        return common | {"macs": None, "reason": error.what}
    return common | asdict(cost)


def latency_and_device(
    segmenter: Segmenter, tiles: npt.NDArray[np.uint8], opened_ms: float, probe: DeviceProbe, settings: BenchSettings,
    *, progress: Progress = no_progress,
) -> tuple[Json, Json]:  # fmt: skip
    """Time the model on real tiles while the device is watched.

    Args:
        segmenter: the model; `segment` returns with its results in host memory, so nothing has to be waited for.
        tiles: N x S x S x 3; calls go round them.
        opened_ms: time that opening the model took.
        probe: where power, memory and temperature come from.
        settings: how long, and at which batches.
        progress: told what begins.
    """
    progress("timed calls", 0)
    batch = segmenter.info.batch
    before = _spent_s(segmenter)
    with watching(probe) as watch:
        timed = measure(_call(segmenter, tiles, batch), settings=settings.measure)
    calls = len(timed.samples_ms) + len(timed.warm_up_ms)
    inside = {name: 1e3 * (spent - before[name]) / (calls * batch) for name, spent in _spent_s(segmenter).items()}
    stability = judge_stability(
        timed.samples_ms, timed.starts_s, before=watch.state(last=False), after=watch.state(last=True)
    )
    summary = summarise(timed.samples_ms)
    throughput = {}
    for size in settings.batches:
        progress(f"calls of {counted(size, 'tile')}", 0)
        throughput[str(size)] = _tiles_per_s(segmenter, tiles, size, settings)
    tiles_per_s = 1e3 * batch / (summary.median_ms or 1.0)
    speed = trolley_speed(tiles_per_s, segmenter.info.tile_size_px, settings.trolley)
    latency = {
        "tiles_per_call": batch,
        "call_ms": asdict(summary),
        "tile_ms_median": (summary.median_ms or 0.0) / batch,
        "stages_ms_per_tile": inside or None,
        "stages_reason": None
        if inside
        else "this backend overlaps the copies of one batch with the kernels of another",
        "opened_ms": opened_ms,
        "first_call_ms": timed.warm_up_ms[0],
        "first_result_ms": opened_ms + timed.warm_up_ms[0],
        "first_calls_ms": list(timed.warm_up_ms[:FIRST_CALLS]),
        "warm_up_calls": len(timed.warm_up_ms),
        "stability": asdict(stability),
        "tiles_per_s": tiles_per_s,
        "tiles_per_s_by_call_size": throughput,
        "trolley": asdict(speed) | {"settings": asdict(settings.trolley)},
        "samples_ms": list(timed.samples_ms),
        "starts_s": list(timed.starts_s),
    }
    return latency, _device_section(watch, timed, batch, speed.tiles_per_metre)


def _spent_s(segmenter: Segmenter) -> dict[str, float]:
    """Seconds by stage so far; empty where the backend does not keep them."""
    times = getattr(segmenter, "times", None)
    return dict(times.spent_s) if isinstance(times, StageTimes) else {}


def roofline_section(macs_per_call: float | None, call_ms: float | None) -> Json:
    """Measured peaks of the host, and where the model stands; the point is None where MACs are not known."""
    roof = measure_roofline()
    point = place(roof, macs_per_call, call_ms) if macs_per_call and call_ms else None
    return {"measured_on": "host processor, float32", **asdict(roof), "model": None if point is None else asdict(point)}


def pipeline_section(path: Path, engine: SegmenterSettings, *, progress: Progress = no_progress) -> Json:
    """Milliseconds of each stage of the real pipeline a tile, on the row that comes with the package.

    Args:
        path: the model.
        engine: how it is opened; its threads are those of all copies of the model together.
        progress: told what begins.
    """
    from edgekit.runtime.demo import load_demo, write_frames
    from edgekit.runtime.job import Job
    from edgekit.runtime.models import opened_models
    from edgekit.runtime.pipeline import run_job
    from edgekit.runtime.row_source import plan_sources
    from edgekit.runtime.settings import RunSettings

    with tempfile.TemporaryDirectory(prefix="edgekit-bench-") as folder:
        frames = Path(folder) / "frames"
        write_frames(load_demo(), frames)
        with opened_models(path, engine) as models:
            run = RunSettings().with_tile_size(models[0].info.tile_size_px)
            job = Job(plan_sources([frames], panorama=False), path.name, run, 0.5, "bench")
            summary = run_job(job, Path(folder) / "run", models, progress=progress)
            copies = len(models)
    tiles, stages = max(int(summary["tiles"]), 1), summary["stages_ms"]
    return {
        "row": "demo", "frames": summary["frames"], "tiles": summary["tiles"], "copies_of_the_model": copies,
        "seconds": summary["seconds"], "tiles_per_s": tiles / summary["seconds"],
        "stages_ms_per_tile": {name: ms / tiles for name, ms in stages.items()},
        "peak_host_memory_mb": summary["peak_rss_mb"],
    }  # fmt: skip


def _call(segmenter: Segmenter, tiles: npt.NDArray[np.uint8], size: int) -> Callable[[], object]:
    """A call on the next `size` tiles, round and round."""
    repeated = np.concatenate([tiles] * (-(-size // len(tiles)) + 1))
    starts = itertools.cycle(range(len(tiles)))

    def call() -> object:
        start = next(starts)
        return segmenter.segment(repeated[start : start + size])

    return call


def _tiles_per_s(segmenter: Segmenter, tiles: npt.NDArray[np.uint8], size: int, settings: BenchSettings) -> float:
    """Throughput of calls with so many tiles, over a fifth of the measuring time."""
    call, calls = _call(segmenter, tiles, size), 0
    call()
    started = time.perf_counter()
    while (passed := time.perf_counter() - started) < settings.measure.measure_s / 5 or not calls:
        call()
        calls += 1
    return calls * size / passed if passed > 0 else 0.0


def _device_section(watch: Watch, timed: Timed, batch: int, tiles_per_metre: float) -> Json:
    summary: DeviceSummary = watch.summary()
    calls = len(timed.samples_ms) + len(timed.warm_up_ms)
    per_tile = None if summary.energy_j is None else summary.energy_j / (calls * batch)
    above = None if summary.energy_above_idle_j is None else summary.energy_above_idle_j / (calls * batch)
    return asdict(summary) | {
        "energy_j_per_tile": per_tile,
        "energy_above_idle_j_per_tile": above,
        "energy_j_per_metre": None if per_tile is None else per_tile * tiles_per_metre,
        "tiles": calls * batch,
    }
