"""The encoder of a trolley, read once and asked by every camera's panorama."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Protocol

from edgekit.errors import SettingsError
from edgekit.runtime.encoder import EncoderSettings, Odometer
from edgekit.runtime.watch.board import StatusBoard

_log = logging.getLogger(__name__)


class LiveOdometer(Odometer, Protocol):
    """An odometer that can tell how it does."""

    @property
    def trouble(self) -> str | None:
        """Why no readings come at present; None while they do."""
        ...


class Shared:
    """The trolley's odometer as one camera's panorama sees it: closing it ends nothing, faults are those of one row.

    Args:
        odometer: of the trolley.
    """

    def __init__(self, odometer: Odometer) -> None:
        self._odometer = odometer
        self._told: set[str] = set()

    @property
    def faults(self) -> tuple[str, ...]:
        """What is new since the row before."""
        return tuple(fault for fault in self._odometer.faults if fault not in self._told)

    def position_mm(self, time_s: float) -> float | None:
        """Position on the rail; None where nothing is known."""
        return self._odometer.position_mm(time_s)

    def close(self) -> None:
        """The row is over; the encoder goes on."""
        self._told.update(self._odometer.faults)


class TrolleyEncoder:
    """Keeps the board told of an odometer, and closes it at the end.

    Args:
        odometer: of the trolley.
        board: where outages are shown.
    """

    def __init__(self, odometer: LiveOdometer, board: StatusBoard) -> None:
        self._odometer = odometer
        self._board = board
        self._away = False

    def shared(self) -> Odometer:
        """For the panorama of one camera."""
        return Shared(self._odometer)

    def look(self) -> None:
        """Tell the board where the encoder has fallen silent, or speaks again."""
        trouble = self._odometer.trouble
        if trouble is not None:
            text = f"the encoder gives no positions ({trouble}); the pictures alone measure"
            self._board.problem("encoder", text)
            if not self._away:
                _log.warning("%s", text)
        elif self._away:
            self._board.solved("encoder")
            _log.warning("the encoder gives positions again")
        self._away = trouble is not None

    def close(self) -> None:
        """Let go of its port."""
        self._odometer.close()


def open_encoder(settings: EncoderSettings, board: StatusBoard) -> TrolleyEncoder | None:
    """The encoder of a site; None where none is named. One that is not there yet is waited for.

    Raises:
        SettingsError: a file was named, which tells of another ride.
        MissingDependencyError: pyserial is not installed.
    """
    if not settings.file:
        return None
    path = Path(settings.file)
    if path.is_file() or path.is_dir():
        raise SettingsError(f"encoder.file is {path}, a recording", mend="name the serial port, as /dev/ttyUSB0")
    from edgekit.runtime.encoder.serial_line import SerialOdometer

    return TrolleyEncoder(SerialOdometer(settings), board)
