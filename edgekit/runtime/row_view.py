"""How the frames of a row are to be seen: the camera's optics and travel, the encoder beside it, and the scale."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from edgekit.errors import SettingsError
from edgekit.runtime.encoder import Odometer, open_odometer
from edgekit.runtime.settings import RunSettings
from edgekit.runtime.sources.description import CameraDescription, read_camera
from edgekit.runtime.sources.stretch import parse_stretch

if TYPE_CHECKING:
    from edgekit.contracts import FrameSource
    from edgekit.runtime.encoder.displacement import EncodedDisplacement
    from edgekit.runtime.mosaic.draw import Optics
    from edgekit.runtime.mosaic.mosaic import StripMosaic
    from edgekit.runtime.mosaic.settings import MosaicSettings

_SCALES_DIFFER = 0.05


@dataclass(frozen=True)
class RowView:
    """What is known of a row beside its frames and the settings.

    `mosaic` makes its panorama; afterwards `scale` tells how large it is.
    """

    settings: RunSettings
    camera: CameraDescription | None = None
    optics: Optics | None = None
    odometer: Odometer | None = None
    rate_hz: float | None = None
    """At which the times of the frames are made up, where they are pictures in a folder."""

    def mosaic(self) -> RowMosaic:
        """The builder of the row's panorama."""
        from edgekit.runtime.mosaic.mosaic import StripMosaic  # brings SciPy, which a finished panorama does not need

        panorama = self._panorama()
        estimator = self._estimator(panorama)
        return RowMosaic(StripMosaic(panorama, estimator=estimator, optics=self.optics), estimator, self)

    def close(self) -> None:
        """Let go of the encoder."""
        if self.odometer is not None:
            self.odometer.close()

    def _panorama(self) -> MosaicSettings:
        """The camera's travel, unless the settings name one."""
        panorama = self.settings.panorama
        if self.camera is None or panorama.travel != "auto":
            return panorama
        return replace(panorama, travel=self.camera.travel)

    def _estimator(self, panorama: MosaicSettings) -> EncodedDisplacement | None:
        if self.odometer is None:
            return None
        from edgekit.runtime.encoder.displacement import EncodedDisplacement
        from edgekit.runtime.motion.settings import DisplacementSettings

        return EncodedDisplacement(DisplacementSettings(band=panorama.band), self.odometer, self.settings.encoder.mode)


class RowMosaic:
    """A panorama on its way, and what scale it has.

    Args:
        strips: builds it.
        estimator: learns the scale; None without an encoder.
        view: the camera and the settings.
    """

    def __init__(self, strips: StripMosaic, estimator: EncodedDisplacement | None, view: RowView) -> None:
        self.strips = strips
        self._estimator = estimator
        self._view = view

    @property
    def px_per_metre(self) -> float | None:
        """Scale: of the encoder, else of the camera's description, else None: then that of the settings holds."""
        if self._estimator is not None and self._estimator.px_per_metre is not None:
            return self._estimator.px_per_metre
        return None if self._view.camera is None else self._view.camera.px_per_metre

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a person should know of encoder and scale."""
        odometer = self._view.odometer
        if odometer is None or self._estimator is None:
            return ()
        measured, configured = self._estimator.px_per_metre, self._view.settings.px_per_metre
        doubt = self._estimator.doubt(self._view.rate_hz)
        said = [*odometer.faults, *([doubt] if doubt else [])]
        if measured is None:
            said.append("the encoder gave no scale: it and the pictures did not agree on enough of the row")
        elif configured is not None and abs(measured / configured - 1) > _SCALES_DIFFER:
            said.append(
                f"the encoder says {measured:.0f} px a metre, the settings {configured:.0f}: the encoder's is used"
            )
        return tuple(said)


def open_view(path: Path, settings: RunSettings) -> RowView:
    """How to see a source: by its own description where it is a camera, else by that of the settings.

    Raises:
        SettingsError: a description or calibration cannot be used.
        SourceError: the encoder's file cannot be used.
    """
    camera = _camera(path, settings)
    view = view_of_camera(camera, settings)
    stretch = parse_stretch(path)
    folder = (path if stretch is None else stretch.file).is_dir()
    rate_hz = _rate_hz(camera, settings) if folder else None
    return replace(view, odometer=open_odometer(settings.encoder, path), rate_hz=rate_hz)


def view_of_camera(camera: CameraDescription | None, settings: RunSettings) -> RowView:
    """As `open_view`, for a camera that is described already; without an encoder.

    Raises:
        SettingsError: its calibration cannot be used.
    """
    if camera is None:
        return RowView(settings)
    from edgekit.runtime.camera.optics import optics_of

    return RowView(settings, camera, optics_of(camera))


def open_row(path: Path, settings: RunSettings, *, told: Callable[[str], None] | None = None) -> FrameSource:
    """The frames of a row; a recording is turned upright as the camera of the settings is mounted.

    Pictures of a folder have the rate of the settings, else of the camera that took them, else 30 a second. `told`
    hears why a camera is started again.

    Raises:
        SettingsError: the description of the camera cannot be used.
        SourceError: the source cannot be read.
    """
    from edgekit.runtime.sources import open_source
    from edgekit.runtime.sources.mounting import Upright, turning

    camera = None if path.suffix == ".toml" else _camera(path, settings)
    source = open_source(path, rate_hz=_rate_hz(camera, settings), told=told)
    turn = None if camera is None else turning(camera)
    return source if turn is None else Upright(source, turn)


def with_rate(settings: RunSettings, rate_hz: float | None, sources: Sequence[Path]) -> RunSettings:
    """The settings with the rate of folders of pictures, where one is named.

    Raises:
        SettingsError: none of the sources is a folder, or the rate is not above 0.
    """
    if rate_hz is None:
        return settings
    if sources and all(path.exists() and not path.is_dir() for path in sources):
        raise SettingsError(
            f"{', '.join(map(str, sources))}: a video and a camera bring their own times",
            mend="leave out --fps: it is the rate of a folder of pictures",
        )
    return replace(settings, rate_hz=rate_hz)


def _rate_hz(camera: CameraDescription | None, settings: RunSettings) -> float:
    from edgekit.runtime.sources.folder import RATE_HZ

    return settings.rate_hz or (camera and camera.rate_hz) or RATE_HZ


def _camera(path: Path, settings: RunSettings) -> CameraDescription | None:
    if path.suffix == ".toml":
        return read_camera(path)
    return read_camera(Path(settings.camera)) if settings.camera else None
