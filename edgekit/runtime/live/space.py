"""Free space: what is kept while there is enough of it, and what goes first where there is not."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgekit.errors import SettingsError
from edgekit.runtime.live.live_row import LiveRow

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SpaceSettings:
    """How much of the disk is left free.

    Raises:
        SettingsError: a value that cannot be used.
    """

    reserve_mb: float = 2000.0
    """Below so much free space (MB), pictures of panoramas give way, so that counting can go on: those of finished
    and synchronised runs first, the oldest before the others; then those of rows that are being counted. A night of
    counts takes about 200 MB without pictures."""

    def __post_init__(self) -> None:
        if not 0 <= self.reserve_mb < 1e9:
            raise SettingsError(f"space.reserve_mb is {self.reserve_mb:g}", mend="give megabytes, 0 or more")


class SpaceWatch:
    """Looks at the free space and lets pictures go where it is short.

    Args:
        out: folder of the runs.
        settings: the reserve.
        make_room: frees space among finished runs, given the bytes that are wanted; returns the bytes it freed.
        give_up: writes down that the pictures of a row are not kept; on the disk when it returns.
    """

    def __init__(
        self,
        out: Path,
        settings: SpaceSettings,
        *,
        make_room: Callable[[int], int],
        give_up: Callable[[LiveRow], None],
    ) -> None:
        self._out = out
        self._reserve = int(settings.reserve_mb * 1e6)
        self._make_room = make_room
        self._give_up = give_up
        self._given_up: set[LiveRow] = set()

    def free_bytes(self) -> int:
        """Free space of the disk that holds the runs."""
        return shutil.disk_usage(self._out).free

    def look(self, rows: Sequence[LiveRow]) -> bool:
        """Make room where it is wanted; True where there is enough of it now, or was.

        Args:
            rows: those that are not counted yet.
        """
        missing = self._reserve - self.free_bytes()
        if missing > 0:
            missing -= self._make_room(missing)
        if missing > 0:
            for row in rows:
                self._drop(row)
        return missing <= 0

    def _drop(self, row: LiveRow) -> None:
        """Take off the segments whose tiles all have their results; the newest stays, it tells the row's length."""
        done = [path for path, stop_px in list(row.spans)[:-1] if stop_px <= row.safe_px and path.exists()]
        if not done:
            return
        if row not in self._given_up:
            self._give_up(row)
            self._given_up.add(row)
            _log.warning("the disk is short of space: pictures of row %s %s are not kept", row.name, row.label)
        for path in done:
            path.unlink(missing_ok=True)
