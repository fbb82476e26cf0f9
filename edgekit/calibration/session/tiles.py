"""A tile as a session knows it: its name, its place, and what the model said of it."""

from __future__ import annotations

from dataclasses import dataclass

from edgekit.calibration.pairing import TilePlace
from edgekit.contracts import Instances, TileSpec


@dataclass(frozen=True, eq=False)
class SessionTile:
    """One tile of a run with all its predictions."""

    name: str
    """File name of its picture, without a folder."""
    source: int
    """Number of the row in the run, from 0."""
    spec: TileSpec
    panorama_height_px: int
    instances: Instances
    """In tile pixels."""
    marks: tuple[int, ...] | None = None
    """Rows of the predictions that a person checks; None: every fruit of the tile is labelled."""

    @property
    def place(self) -> TilePlace:
        """Where it lies; tiles of one column see the same plants."""
        return TilePlace(self.spec.y_px, self.panorama_height_px, f"row{self.source:03d}_x{self.spec.x_px:07d}")

    @property
    def checked(self) -> Instances:
        """The predictions that are paired with labels."""
        return self.instances if self.marks is None else self.instances.select(self.marks)


def tile_name(source: int, number: int) -> str:
    """The picture's name, which leads back to the row and the tile."""
    return f"row{source:03d}_tile{number:06d}.png"
