"""The site file (trolley.toml): everything that `edgekit run --site` needs to know of one trolley."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from edgekit.errors import SettingsError
from edgekit.runtime.encoder import EncoderSettings
from edgekit.runtime.installed.named import ACTIVE
from edgekit.runtime.live.space import SpaceSettings
from edgekit.runtime.markers import MarkerSettings
from edgekit.runtime.mosaic.settings import MosaicSettings
from edgekit.runtime.retention.settings import RetentionSettings
from edgekit.runtime.settings import RunSettings, SegmentSettings
from edgekit.runtime.sources import CameraDescription, LiveSettings, read_camera
from edgekit.runtime.sources.description import placed as placed_camera
from edgekit.runtime.watch.settings import LogSettings, MetricsSettings, WatchdogSettings
from edgekit.settings_file import read_settings
from edgekit.sync.settings import SyncSettings
from edgekit.tiles import MergeSettings, TileSettings

OpenedBy = Literal["command", "marker", "movement"]
Side = Literal["left", "right"]


@dataclass(frozen=True)
class SiteCamera:
    """One camera of the trolley.

    Raises:
        SettingsError: it is described twice, or not at all.
    """

    name: str
    """What logs and metrics call it."""
    file: Path | None = None
    """Its description (TOML, see runtime/cameras/), relative to the site file."""
    camera: CameraDescription | None = None
    """Its description here, in place of a file."""
    side: Side | None = None
    """Side of the trolley whose rows it sees; default: that of the description."""

    def __post_init__(self) -> None:
        if (self.file is None) == (self.camera is None):
            raise SettingsError(f"the camera {self.name!r} needs either file or a table camera")


@dataclass(frozen=True)
class RowSettings:
    """When rows begin and end.

    Raises:
        SettingsError: a value that cannot be used.
    """

    opened_by: tuple[OpenedBy, ...] = ("command",)
    """command: `edgekit row start 12 --side left`; marker: a printed marker in front of the camera; movement: the
    trolley begins to move. Several may be named."""
    stop_s: float = 10.0
    """movement: a row ends when the trolley has stood still for so long, or rides back by the width of a frame."""

    def __post_init__(self) -> None:
        if not self.opened_by:
            raise SettingsError("rows.opened_by is empty", mend="name command, marker or movement")
        if not 1 <= self.stop_s <= 3600:
            raise SettingsError(f"rows.stop_s is {self.stop_s:g}", mend="give 1 to 3600 seconds")


@dataclass(frozen=True)
class LiveSegmentSettings(SegmentSettings):
    """How the panorama is kept on disk while the trolley rides.

    Tiles are cut from these pictures, so that a row gives the same count whether its tiles were segmented at once,
    between rows or after a power cut.
    """

    width_px: int = 1024
    """Columns per segment: what a power cut can cost, 1.7 s at 600 px/s. Wider ones save little."""


@dataclass(frozen=True)
class Site:
    """One trolley.

    Raises:
        SettingsError: a value that cannot be used.
    """

    out: Path
    """Folder of the runs, relative to the site file."""
    cameras: tuple[SiteCamera, ...]
    """Usually two, one a side."""
    model: Path | None = None
    """Graph or engine, relative to the site file, or `active` for the one that `edgekit models` has made active;
    default: the fruit model that comes along."""
    threshold: float | None = None
    """Confidence from which a fruit counts; default: the season's, else the model's."""
    season: str | None = None
    """Season profile that sets the threshold: name or path, or `active`."""
    profiles: Path | None = None
    """Folder of season profiles, relative to the site file."""
    backend: str = "auto"
    """auto: the TensorRT engine beside the graph where one fits, else ONNX Runtime; onnxruntime; tensorrt."""
    provider: str = "cpu"
    """Where the model runs: cpu, cuda, tensorrt, ..."""
    allow_cpu_fallback: bool = False
    """Run on the CPU where the provider is not there; recorded."""
    threads: int | None = None
    """Threads that the model may use; default: one a core. They stand back behind cameras and panorama."""
    run_per: Literal["day", "start"] = "day"
    """day: one run folder a day; start: one each time it is started. An unfinished run is gone on with in both."""
    day_begins_h: int = 12
    """Hour at which a new day begins, so that the rides of one night stay together."""
    control: Path | None = None
    """Socket for `edgekit row` and `edgekit status`; default: in the folder that the system gives, else in `out`."""
    rows: RowSettings = field(default_factory=RowSettings)
    markers: MarkerSettings = field(default_factory=MarkerSettings)
    """Which markers are looked for, where `rows.opened_by` names them."""
    encoder: EncoderSettings = field(default_factory=EncoderSettings)
    """On a serial port: it serves every camera."""
    space: SpaceSettings = field(default_factory=SpaceSettings)
    retention: RetentionSettings = field(default_factory=RetentionSettings)
    """What `edgekit runs prune --site` deletes."""
    patience: LiveSettings = field(default_factory=LiveSettings)
    metrics: MetricsSettings = field(default_factory=MetricsSettings)
    watchdog: WatchdogSettings = field(default_factory=WatchdogSettings)
    log: LogSettings = field(default_factory=LogSettings)
    sync: SyncSettings = field(default_factory=SyncSettings)
    tiles: TileSettings = field(default_factory=TileSettings)
    merge: MergeSettings = field(default_factory=MergeSettings)
    panorama: MosaicSettings = field(default_factory=MosaicSettings)
    segments: LiveSegmentSettings = field(default_factory=LiveSegmentSettings)
    px_per_metre: float | None = None
    """Scale of the panorama; with it, fruit per metre is told."""

    def __post_init__(self) -> None:
        names = [camera.name for camera in self.cameras]
        if not names:
            raise SettingsError("no camera is named", mend="write a table [[cameras]] for each")
        if len(set(names)) < len(names):
            raise SettingsError(f"two cameras have one name: {', '.join(names)}", mend="name each otherwise")
        if not 0 <= self.day_begins_h <= 23:
            raise SettingsError(f"day_begins_h is {self.day_begins_h}", mend="give an hour from 0 to 23")

    def run_settings(self) -> RunSettings:
        """What decides the result, in the form that every run has."""
        segments = SegmentSettings(self.segments.width_px, self.segments.kind)
        return RunSettings(
            self.tiles, self.merge, self.panorama, segments, px_per_metre=self.px_per_metre, encoder=self.encoder
        )  # fmt: skip


@dataclass(frozen=True)
class ReadyCamera:
    """A camera with its description read."""

    name: str
    side: Side
    label: str
    """The side; where several cameras look there, with the name."""
    description: CameraDescription


def read_site(path: Path) -> Site:
    """A site file; relative paths in it are taken from its folder.

    Raises:
        SettingsError: the file or a value in it cannot be used.
    """
    site = read_settings(path, Site)
    base = path.resolve().parent

    def placed(other: Path | None) -> Path | None:
        return None if other is None else base / other

    cameras = tuple(
        replace(item, file=placed(item.file), camera=item.camera and placed_camera(item.camera, path.resolve()))
        for item in site.cameras
    )
    return replace(
        site,
        out=base / site.out,
        cameras=cameras,
        model=site.model if str(site.model) == ACTIVE else placed(site.model),
        profiles=placed(site.profiles),
        control=placed(site.control),
        log=replace(site.log, file=placed(site.log.file)),
        sync=site.sync.within(base),
        metrics=replace(site.metrics, token_file=placed(site.metrics.token_file)),
    )


def ready_cameras(site: Site) -> tuple[ReadyCamera, ...]:
    """The cameras of a site with their descriptions.

    Raises:
        SettingsError: a description cannot be read.
    """
    described = [(item, item.camera or read_camera(item.file or Path())) for item in site.cameras]
    sides = [item.side or description.side for item, description in described]
    ready = []
    for (item, description), side in zip(described, sides, strict=True):
        label = side if sides.count(side) == 1 else f"{side} {item.name}"
        ready.append(ReadyCamera(item.name, side, label, description))
    return tuple(ready)
