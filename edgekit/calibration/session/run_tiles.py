"""Tiles of a run folder with their predictions and their pixels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgekit.calibration.session.tiles import SessionTile, tile_name
from edgekit.contracts import Image
from edgekit.errors import RunFolderError
from edgekit.runtime.panorama.segments import SegmentReader
from edgekit.store import RunFolder, RunReader, StoredSource
from edgekit.tiles import cut_tile


@dataclass(frozen=True)
class RunFacts:
    """What calibration needs to know of a run."""

    folder: Path
    model_id: str
    model: str
    precision: str
    class_names: tuple[str, ...]
    score_floor: float
    threshold: float

    @classmethod
    def of(cls, folder: Path, reader: RunReader) -> RunFacts:
        """From the run's own record.

        Raises:
            RunFolderError: the record of an edgekit that noted less.
        """
        plan = reader.run().plan
        model: dict[str, Any] = plan.model
        try:
            names, floor = tuple(model["class_names"]), float(model["score_floor"])
            return cls(folder, plan.model_id, model["model"], model["precision"], names, floor, plan.threshold)
        except KeyError as error:
            raise RunFolderError(f"{folder} does not note the model's {error}", mend="run it again") from error


@dataclass(frozen=True, eq=False)
class RunTiles:
    """All tiles of a run that have been cut."""

    facts: RunFacts
    tiles: tuple[SessionTile, ...]
    """Rows one after the other, in the order of cutting."""

    @property
    def by_name(self) -> dict[str, SessionTile]:
        """Tiles by the name that `calibrate sample` gives their pictures."""
        return {tile.name: tile for tile in self.tiles}


def read_run_facts(folder: Path) -> RunFacts:
    """The run's own record, without its tiles.

    Raises:
        RunFolderError: there is no run.
        RunDamagedError: its database is damaged.
    """
    with closing(RunReader.open(RunFolder(folder).database)) as reader:
        return RunFacts.of(folder, reader)


def read_run_tiles(folder: Path) -> RunTiles:
    """Every tile with its predictions; pixels are read when a tile is chosen.

    Raises:
        RunFolderError: there is no run.
        RunDamagedError: its database is damaged.
    """
    with closing(RunReader.open(RunFolder(folder).database)) as reader:
        facts = RunFacts.of(folder, reader)
        tiles = [tile for source in reader.sources() for tile in _tiles_of(reader, source)]
    return RunTiles(facts, tuple(tiles))


def _tiles_of(reader: RunReader, source: StoredSource) -> Iterator[SessionTile]:
    for tile in reader.tiles(source.id):
        name = tile_name(source.number, tile.spec.number)
        yield SessionTile(name, source.number, tile.spec, source.height_px or tile.spec.size_px, tile.instances)


class TilePixels:
    """Cuts tiles out of a run's stored panoramas.

    Args:
        folder: of the run.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = RunFolder(folder)
        self._readers: dict[int, SegmentReader] = {}

    def read(self, tile: SessionTile) -> Image:
        """uint8, S x S x 3, RGB.

        Raises:
            RunDamagedError: the panorama is unfinished, or a segment of it cannot be read.
        """
        if tile.source not in self._readers:
            self._readers[tile.source] = SegmentReader(self._folder.segments(tile.source))
        spec = tile.spec
        strip = self._readers[tile.source].window(spec.x_px, spec.x_px + spec.size_px)
        return cut_tile(strip, spec._replace(x_px=0))
