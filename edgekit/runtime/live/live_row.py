"""A row that a camera sees, or saw before the last power cut, until its fruit is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from edgekit.contracts import TileSpec
from edgekit.runtime.row_tiles import RowTiles
from edgekit.store import PanoramaShape
from edgekit.tiles import TileSettings


@dataclass(eq=False)
class LiveRow:
    """What the threads of a live run share about one row; every field says who writes it."""

    id: int
    number: int
    name: str
    label: str
    """The side, and the camera where several look there."""
    folder: Path
    """Of its segments."""
    tiles: RowTiles
    """Used by the model's thread alone."""
    direction: int = 1
    """+1 or -1; written by the camera's thread before its first segment."""
    noted: bool = False
    """Its growth note is on the disk; the camera's thread."""
    cut_px: int = 0
    """Columns that were cut into tiles; the model's thread."""
    total: int | None = None
    """Tiles of the whole row, once its last one is cut; the model's thread."""
    recorded: int = 0
    """Tiles whose results went to the writer, or were stored before; the model's thread."""
    shape: PanoramaShape | None = None
    """Once the row has ended; written by the camera's thread."""
    safe_px: int = 0
    """Up to this finished column nothing is needed from the disk any more; the writer's thread."""
    spans: list[tuple[Path, int]] = field(default_factory=list)
    """Segments that were cut, with the finished column at which each ends; the model's thread."""
    told: bool = False
    """That it is complete was told; the model's thread."""
    counted: bool = False
    """Its fruit is on the disk; the writer's thread."""

    @property
    def complete(self) -> bool:
        """Every tile has its result."""
        return self.total is not None and self.recorded >= self.total


def live_row(
    ids: tuple[int, int],
    names: tuple[str, str],
    *,
    folder: Path,
    tiles: TileSettings,
    stored: Sequence[TileSpec] = (),
) -> LiveRow:
    """A row that begins, or is taken up again.

    Args:
        ids: in the database; the number in the run, from 0.
        names: of the row, and of its side.
        folder: of its segments.
        tiles: how it is cut.
        stored: tiles that have their results already.
    """
    (row_id, number), (name, label) = ids, names
    safe_px = stored[-1].x_px if stored else 0
    cutter = RowTiles(tiles, stored, f"row {name} {label}")
    return LiveRow(row_id, number, name, label, folder, cutter, recorded=len(stored), safe_px=safe_px)
