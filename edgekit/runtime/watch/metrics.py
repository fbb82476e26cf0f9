"""A snapshot as Prometheus metrics. The board counts; nothing is counted twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from edgekit.runtime.watch.board import BUCKETS_S
from edgekit.runtime.watch.snapshot import CameraStatus, RowStatus, Snapshot, StageStatus

Labelled = Iterable[tuple[Sequence[str], float | None]]
_HEALTH = {"ok": 0, "degraded": 1, "fault": 2}


class SnapshotCollector(Collector):
    """Takes a snapshot each time it is asked.

    Args:
        snapshot: gives the run's state.
    """

    def __init__(self, snapshot: Callable[[], Snapshot]) -> None:
        self._snapshot = snapshot

    def describe(self) -> Iterable[Metric]:
        """Nothing ahead of time: the registry holds no other collector."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Every metric of this moment."""
        now = self._snapshot()
        yield from _run(now)
        yield from _cameras(now.cameras)
        yield from _rows(now.rows)
        yield from _stages(now.stages)
        yield from _device(now)


def metrics_text(snapshot: Callable[[], Snapshot]) -> bytes:
    """Prometheus' text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(SnapshotCollector(snapshot))
    return generate_latest(registry)


def _run(now: Snapshot) -> Iterable[Metric]:
    yield _gauge("edgekit_uptime_seconds", "Seconds since the run started", now.uptime_s)
    yield _gauge("edgekit_health", "0 ok, 1 degraded, 2 fault", _HEALTH[now.health])
    yield _gauge("edgekit_stopping", "1 while the run ends", now.stopping)
    yield CounterMetricFamily("edgekit_tiles", "Tiles segmented", value=now.tiles)
    yield _gauge("edgekit_fruit", "Fruit of all rows so far, at the run's threshold", now.fruit)
    yield CounterMetricFamily("edgekit_rows_closed", "Rows that were closed", value=now.rows_done)
    yield _gauge("edgekit_backlog_tiles", "Tiles that wait to be segmented", now.backlog_tiles)
    yield _gauge("edgekit_lag_seconds", "Age of the oldest tile that waits", now.lag_s)
    drifted, shift = (now.model.drifted, now.model.rank_shift) if now.model else (None, None)
    yield _gauge("edgekit_confidences_drifted", "1 where the confidences no longer are the season's", drifted)
    yield _gauge("edgekit_confidence_rank_shift", "Mean rank of the confidences less the season's", shift)


def _cameras(cameras: Sequence[CameraStatus]) -> Iterable[Metric]:
    names, labels = ["camera", "side"], [(camera.name, camera.side) for camera in cameras]

    def counter(name: str, text: str, values: Iterable[int]) -> Metric:
        family = CounterMetricFamily(f"edgekit_{name}", text, labels=names)
        for label, value in zip(labels, values, strict=True):
            family.add_metric(label, value)
        return family

    yield counter("frames", "Frames that came from the camera", (camera.frames for camera in cameras))
    yield counter("frames_placed", "Frames through the panorama stage", (camera.placed for camera in cameras))
    yield counter("frames_dropped", "Frames that gave way to newer ones", (camera.dropped for camera in cameras))
    yield counter("camera_faults", "Outages of the camera", (camera.faults for camera in cameras))
    up = [(label, float(camera.state == "ok")) for label, camera in zip(labels, cameras, strict=True)]
    yield _gauges("edgekit_camera_up", "1 while frames come", names, up)
    rates = [(label, camera.rate_hz) for label, camera in zip(labels, cameras, strict=True)]
    yield _gauges("edgekit_camera_rate_hertz", "Frames a second over the last ten seconds", names, rates)


def _rows(rows: Sequence[RowStatus]) -> Iterable[Metric]:
    yield _gauges(
        "edgekit_row_open", "1 while a row is open", ["side"], [((row.side,), row.row is not None) for row in rows]
    )
    yield _gauges("edgekit_row_fruit", "Fruit of the open row", ["side"], [((row.side,), row.fruit) for row in rows])


def _stages(stages: Sequence[StageStatus]) -> Iterable[Metric]:
    family = HistogramMetricFamily("edgekit_stage_seconds", "Time of one pass of a stage", labels=["stage"])
    for stage in stages:
        buckets = [(str(limit), count) for limit, count in zip(BUCKETS_S, stage.buckets, strict=True)]
        family.add_metric([stage.name], [*buckets, ("+Inf", stage.count)], sum_value=stage.total_s)
    yield family


def _device(now: Snapshot) -> Iterable[Metric]:
    device = now.device
    warm = [((name,), value) for name, value in device.temperatures_c.items()]
    yield _gauges("edgekit_temperature_celsius", "Temperature", ["sensor"], warm)
    yield _gauge("edgekit_power_watts", "Power of the board or the GPU", device.power_w)
    yield _gauge("edgekit_throttled", "1 while the device slows itself down", bool(device.throttling))
    yield _gauge("edgekit_disk_free_bytes", "Free space where the runs are kept", device.free_bytes)
    yield _gauge("edgekit_disk_size_bytes", "Size of that file system", device.total_bytes)
    resident = None if device.memory_mb is None else device.memory_mb * 2**20
    yield _gauge("edgekit_resident_memory_bytes", "Resident memory of the run", resident)


def _gauge(name: str, text: str, value: float | None) -> Metric:
    """A gauge; one without a sample where the value is not known, never a 0 in its place."""
    return _gauges(name, text, [], [] if value is None else [((), value)])


def _gauges(name: str, text: str, names: Sequence[str], values: Labelled) -> Metric:
    family = GaugeMetricFamily(name, text, labels=names)
    for labels, value in values:
        if value is not None:
            family.add_metric(labels, float(value))
    return family
