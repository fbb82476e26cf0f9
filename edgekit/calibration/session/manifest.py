"""What a session folder says of itself: `session.json`, and the predictions beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from edgekit.atomic import write_atomic
from edgekit.calibration.session.tiles import SessionTile
from edgekit.contracts import Instances, TileSpec
from edgekit.errors import LabelsError, SettingsError
from edgekit.labels import LabelledPicture, LabelSet, picture_from_instances, write_coco
from edgekit.labels.coco import read_json
from edgekit.masks import CocoRle, decode
from edgekit.settings_file import settings_from

MANIFEST = "session.json"
PREDICTIONS = "predictions.coco.json"
IMAGES = "images"
FORMAT = 1
MEND = "sample the run again"
Record = TypeVar("Record")

Mode = Literal["marks", "tiles"]
"""marks: chosen predictions are checked, other fruit need not be drawn; tiles: every fruit of a tile is labelled."""


@dataclass(frozen=True, eq=False)
class SessionFacts:
    """What a session and its file say alike."""

    model_id: str
    model: str
    precision: str
    class_names: tuple[str, ...]
    score_floor: float
    mode: Mode
    prelabels: Mapping[str, str]
    """SHA-256 of every file of pre-labels as it was written, by its path in the folder: tells what was corrected."""

    def facts(self) -> dict[str, Any]:
        """These alone, by name."""
        return {item.name: getattr(self, item.name) for item in fields(SessionFacts)}


@dataclass(frozen=True, eq=False)
class Session(SessionFacts):
    """A session folder."""

    folder: Path
    tiles: tuple[SessionTile, ...]

    @property
    def by_name(self) -> dict[str, SessionTile]:
        """Tiles by the name of their picture."""
        return {tile.name: tile for tile in self.tiles}


def write_session(session: Session) -> None:
    """Write the predictions and, last, the manifest: a folder without it is no session.

    Raises:
        StorageError: a file cannot be written.
    """
    pictures = tuple(picture_of(tile, tile.instances, session.class_names) for tile in session.tiles)
    write_coco(LabelSet(pictures, session.class_names), session.folder / PREDICTIONS)
    tiles = tuple(
        _TileEntry(tile.name, tile.source, tile.spec.number, tile.spec.x_px, tile.spec.y_px, tile.spec.size_px,
                   tile.panorama_height_px, tile.marks)
        for tile in session.tiles
    )  # fmt: skip
    values = asdict(_Manifest(**session.facts(), format=FORMAT, tiles=tiles))
    write_atomic(session.folder / MANIFEST, (json.dumps(values, indent=1) + "\n").encode())


def picture_of(tile: SessionTile, instances: Instances, class_names: tuple[str, ...]) -> LabelledPicture:
    """Predictions of a tile as labels of its picture."""
    return picture_from_instances(tile.name, (tile.spec.size_px, tile.spec.size_px), instances, class_names)


def find_session(path: Path) -> Path | None:
    """The session folder that a path is or lies in; None where it lies in none."""
    return next((folder for folder in (path, *path.parents) if (folder / MANIFEST).is_file()), None)


def read_session(folder: Path) -> Session:
    """Read a session folder.

    Raises:
        LabelsError: no session, one of another format, or a damaged one: the line names the file and the key.
    """
    path = folder / MANIFEST
    values = _read_json(path)
    if values.get("format") != FORMAT:
        raise LabelsError(f"{path} has format {values.get('format')}", mend=f"this edgekit reads format {FORMAT}")
    manifest, predictions = _record(values, _Manifest, path), _read_predictions(folder / PREDICTIONS)
    tiles = tuple(_tile(entry, predictions, path) for entry in manifest.tiles)
    return Session(**manifest.facts(), folder=folder, tiles=tiles)


@dataclass(frozen=True)
class _TileEntry:
    """A tile as `session.json` has it; see `SessionTile`."""

    name: str
    source: int
    number: int
    x_px: int
    y_px: int
    size_px: int
    panorama_height_px: int
    marks: tuple[int, ...] | None = None


@dataclass(frozen=True, eq=False)
class _Manifest(SessionFacts):
    """The content of `session.json`."""

    format: int
    tiles: tuple[_TileEntry, ...]


@dataclass(frozen=True)
class _Picture:
    id: int
    file_name: str


@dataclass(frozen=True)
class _Rle:
    size: tuple[int, ...]
    counts: str


@dataclass(frozen=True)
class _Prediction:
    image_id: int
    category_id: int
    """The model's class, counted from 1."""
    bbox: tuple[float, ...]
    """x, y, width, height."""
    score: float
    segmentation: _Rle

    def __post_init__(self) -> None:
        for name, values, length in (("bbox", self.bbox, 4), ("segmentation.size", self.segmentation.size, 2)):
            if len(values) != length:
                raise SettingsError(f"a {name} of {len(values)} numbers", mend=f"write {length}")
        if not (0 <= self.score <= 1 and 1 <= self.category_id < 2**31):
            what = f"a prediction of category {self.category_id} with score {self.score:g}"
            raise SettingsError(what, mend="categories begin at 1, scores lie between 0 and 1")


@dataclass(frozen=True)
class _Predictions:
    """What is read of `predictions.coco.json`."""

    images: tuple[_Picture, ...]
    annotations: tuple[_Prediction, ...]


def _read_json(path: Path) -> dict[str, Any]:
    values = read_json(path)
    if not isinstance(values, dict):
        raise LabelsError(f"{path} cannot be read: no object of keys and values", mend=MEND)
    return values


def _record(values: dict[str, Any], kind: type[Record], path: Path) -> Record:
    try:
        return settings_from(values, kind, others=True)
    except SettingsError as error:
        mend = f"{error.mend}, or {MEND}" if error.mend else MEND
        raise LabelsError(f"{path} cannot be read: {error.what}", mend=mend) from error


def _tile(entry: _TileEntry, predictions: dict[str, list[_Prediction]], path: Path) -> SessionTile:
    if entry.name not in predictions:
        raise LabelsError(f"{path} cannot be read: tile {entry.name} is not in {PREDICTIONS}", mend=MEND)
    spec = TileSpec(entry.number, entry.x_px, entry.y_px, entry.size_px)
    found = _instances(predictions[entry.name])
    if entry.marks is not None and not all(0 <= mark < len(found) for mark in entry.marks):
        what = f"{path} cannot be read: {entry.name} marks a prediction that it does not have"
        raise LabelsError(what, mend=MEND)
    return SessionTile(entry.name, entry.source, spec, entry.panorama_height_px, found, entry.marks)


def _read_predictions(path: Path) -> dict[str, list[_Prediction]]:
    """Predictions of each picture, in the order of the file, which is that of the run."""
    data = _record(_read_json(path), _Predictions, path)
    names = {image.id: image.file_name for image in data.images}
    found: dict[str, list[_Prediction]] = {name: [] for name in names.values()}
    for number, prediction in enumerate(data.annotations):
        if prediction.image_id not in names:
            what = (
                f"{path} cannot be read: annotations[{number}] is of picture {prediction.image_id}, which is not in it"
            )
            raise LabelsError(what, mend=MEND)
        found[names[prediction.image_id]].append(prediction)
    return found


def _instances(rows: list[_Prediction]) -> Instances:
    boxes = np.array([row.bbox for row in rows], np.float32).reshape(-1, 4)
    boxes[:, 2:] += boxes[:, :2]
    scores = np.array([row.score for row in rows], np.float32)
    labels = np.array([row.category_id - 1 for row in rows], np.int32)
    outlines = [CocoRle(size=list(row.segmentation.size), counts=row.segmentation.counts) for row in rows]
    return Instances(boxes, scores, labels, tuple(decode(outline) for outline in outlines))
