"""What a run is doing at one moment, as plain frozen values: for the metrics, the live view and the watchdog."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

CameraState = Literal["starting", "ok", "idle", "lost", "frozen", "off"]
"""`idle`: not read at the moment, as during repairs; `lost`: no frame comes, it is taken up again and again;
`frozen`: the same picture; `off`: given up."""
Level = Literal["ok", "degraded", "fault"]
"""`degraded`: counting goes on, somebody should look; `fault`: some or all of the row is not counted."""
Kind = TypeVar("Kind")


@dataclass(frozen=True)
class CameraStatus:
    """One camera since the start of the run."""

    name: str
    side: str
    state: CameraState
    frames: int
    """Frames that came from the camera."""
    placed: int
    """Frames that are through the panorama stage (used, or found useless there)."""
    dropped: int
    """Frames that gave way to newer ones, unseen."""
    faults: int
    """Outages so far."""
    last_fault: str | None = None
    frame_age_s: float | None = None
    """Seconds since the last frame came; None before the first."""
    placed_age_s: float | None = None
    """Seconds since the last frame was placed; None before the first."""
    rate_hz: float | None = None
    """Frames that came in a second, over the last ten seconds; None where fewer than two did."""


@dataclass(frozen=True)
class RowStatus:
    """The row that a side is in."""

    side: str
    row: str | None
    """Name of the open row; None between rows."""
    open_s: float | None
    """Seconds since it was opened; None between rows."""
    frames: int
    tiles: int
    """Tiles finished for this row."""
    fruit: int | None = None
    """Fruit of this row at the run's threshold, as far as it is merged; None before any is."""
    length_m: float | None = None
    """Metres driven along it; None where the scale is not known."""


@dataclass(frozen=True)
class StageStatus:
    """Times of one stage: a histogram of its passes."""

    name: str
    count: int
    total_s: float
    last_s: float
    buckets: tuple[int, ...]
    """Passes that took at most each of BUCKETS_S seconds (cumulative)."""


@dataclass(frozen=True)
class DeviceStatus:
    """What the device reads; what it cannot tell is missing, with its reason."""

    temperatures_c: Mapping[str, float] = field(default_factory=dict)
    power_w: float | None = None
    power_mode: str | None = None
    free_bytes: int | None = None
    total_bytes: int | None = None
    memory_mb: float | None = None
    """Resident memory of the run."""
    throttling: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    """Quantity -> why it is not there."""


@dataclass(frozen=True)
class ModelStatus:
    """The model and what it runs on: asked for, got, and why."""

    model: str
    requested: str
    effective: str
    reason: str | None = None
    threshold: float | None = None
    season: str | None = None
    drift: str | None = None
    """Verdict on whether the season's profile still fits; None where it was not judged."""
    drifted: bool | None = None
    """The same for machines."""
    rank_shift: float | None = None
    """Mean rank of the run's confidences in the season's, less the season's own: below 0 they have fallen."""


@dataclass(frozen=True)
class Gap:
    """A time in which nothing was counted, and what the repair at the next start found."""

    what: str
    seconds: float | None = None
    """Length of the gap by the wall clock, which may be wrong; None where it cannot be told."""


@dataclass(frozen=True)
class Problem:
    """One thing that is not as it should be, in plain words."""

    level: Level
    text: str


@dataclass(frozen=True)
class Snapshot:
    """The whole run at one moment."""

    run: str
    """Name of the run folder; of the site's folder before the first."""
    uptime_s: float
    stopping: bool
    health: Level
    problems: tuple[Problem, ...]
    cameras: tuple[CameraStatus, ...]
    rows: tuple[RowStatus, ...]
    stages: tuple[StageStatus, ...]
    tiles: int
    """Tiles finished since the start."""
    fruit: int
    """Fruit of all rows, of those that are not merged yet as far as it is known."""
    rows_done: int
    backlog_tiles: int
    """Tiles that are cut and not yet segmented."""
    lag_s: float
    """Age of the oldest tile that waits; 0 where none does."""
    tile_age_s: float | None
    """Seconds since the last tile was finished; None before the first."""
    device: DeviceStatus
    model: ModelStatus | None = None
    gap: Gap | None = None
    starting: str | None = None
    """What is waited for before anything can be counted, such as the model; None from then on."""

    def as_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""
        return asdict(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Snapshot:
        """Read what `as_dict` gave, of this release or a neighbouring one: keys that are not known are passed over.

        Raises:
            ValueError: it is no snapshot.
        """
        try:
            return _plain(values, Snapshot)
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"no status of a run: {error}") from error


def _plain(values: Mapping[str, Any], kind: type[Kind]) -> Kind:
    hints = get_type_hints(kind)
    names = {item.name for item in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: _value(values[name], hints[name]) for name in names if name in values})


def _value(value: Any, wanted: Any) -> Any:
    if value is None:
        return None
    if get_origin(wanted) in (Union, types.UnionType):
        return _value(value, next(choice for choice in get_args(wanted) if choice is not type(None)))
    if get_origin(wanted) is tuple:
        return tuple(_value(item, get_args(wanted)[0]) for item in value)
    return _plain(value, wanted) if is_dataclass(wanted) else value  # type: ignore[arg-type]
