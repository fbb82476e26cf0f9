"""From what a person names to an odometer."""

from __future__ import annotations

from pathlib import Path

from edgekit.errors import SourceError
from edgekit.runtime.encoder.serial_line import SerialOdometer
from edgekit.runtime.encoder.settings import EncoderSettings
from edgekit.runtime.encoder.track import Odometer, read_track
from edgekit.runtime.sources.stretch import parse_stretch


def open_odometer(settings: EncoderSettings, source: Path) -> Odometer | None:
    """The odometer of a row; None where no encoder is named.

    Args:
        settings: file or port.
        source: the row; its name picks the CSV of a folder, that of the whole recording where the row is a stretch.

    Raises:
        SourceError: the file is not there or cannot be used, or a serial port was named for a recording.
        MissingDependencyError: a port was named and pyserial is not installed.
    """
    if not settings.file:
        return None
    path = Path(settings.file)
    if path.is_char_device():
        if source.suffix != ".toml":
            raise SourceError(
                f"{path} is a port, and {source} a recording", mend="give the CSV that was recorded with it"
            )
        return SerialOdometer(settings)
    if path.is_dir():
        path = path / f"{_recording_name(source)}.csv"
    if not path.exists():
        raise SourceError(f"{path} does not exist", mend="give the encoder's CSV, a folder of them, or a serial port")
    return read_track(path, ticks_per_metre=settings.ticks_per_metre, offset_s=settings.offset_s)


def _recording_name(source: Path) -> str:
    stretch = parse_stretch(source)
    recording = source if stretch is None else stretch.file
    return recording.name if recording.is_dir() else recording.stem
