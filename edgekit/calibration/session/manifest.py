"""What a session folder says of itself: `session.json`, and the predictions beside it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from edgekit.atomic import write_atomic
from edgekit.calibration.session.tiles import SessionTile
from edgekit.contracts import Instances, TileSpec
from edgekit.errors import LabelsError
from edgekit.labels import LabelledPicture, LabelSet, picture_from_instances, write_coco
from edgekit.masks import decode

MANIFEST = "session.json"
PREDICTIONS = "predictions.coco.json"
IMAGES = "images"
FORMAT = 1

DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)
"""What reading a file raises that is cut, or that something else wrote."""

Mode = Literal["marks", "tiles"]
"""marks: chosen predictions are checked, other fruit need not be drawn; tiles: every fruit of a tile is labelled."""


@dataclass(frozen=True, eq=False)
class Session:
    """A session folder."""

    folder: Path
    model_id: str
    model: str
    precision: str
    class_names: tuple[str, ...]
    score_floor: float
    mode: Mode
    tiles: tuple[SessionTile, ...]
    prelabels: dict[str, str]
    """SHA-256 of every file of pre-labels as it was written, by its path in the folder: tells what was corrected."""

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
    tiles = [
        {"name": tile.name, "source": tile.source, "number": tile.spec.number, "x_px": tile.spec.x_px}
        | {"y_px": tile.spec.y_px, "size_px": tile.spec.size_px, "panorama_height_px": tile.panorama_height_px}
        | {"marks": None if tile.marks is None else list(tile.marks)}
        for tile in session.tiles
    ]
    values = {
        "format": FORMAT, "model_id": session.model_id, "model": session.model, "precision": session.precision,
        "class_names": list(session.class_names), "score_floor": session.score_floor, "mode": session.mode,
        "tiles": tiles, "prelabels": session.prelabels,
    }  # fmt: skip
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
        LabelsError: no session, a damaged one, or one of another format.
    """
    path = folder / MANIFEST
    try:
        values: dict[str, Any] = json.loads(path.read_text("utf-8"))
        if values["format"] != FORMAT:
            raise LabelsError(f"{path} has format {values['format']}", mend=f"this edgekit reads format {FORMAT}")
        predictions = _read_predictions(folder / PREDICTIONS)
        return Session(
            folder=folder,
            model_id=values["model_id"],
            model=values["model"],
            precision=values["precision"],
            class_names=tuple(values["class_names"]),
            score_floor=float(values["score_floor"]),
            mode=values["mode"],
            tiles=tuple(_tile(item, predictions) for item in values["tiles"]),
            prelabels=dict(values["prelabels"]),
        )
    except DAMAGE as error:
        raise LabelsError(f"{path} cannot be read: {_reason(error)}", mend="sample the run again") from error


def _reason(error: Exception) -> str:
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)


def _tile(item: dict[str, Any], predictions: dict[str, list[dict[str, Any]]]) -> SessionTile:
    spec = TileSpec(item["number"], item["x_px"], item["y_px"], item["size_px"])
    marks = None if item["marks"] is None else tuple(item["marks"])
    found = _instances(predictions[item["name"]])
    if marks is not None and not all(0 <= mark < len(found) for mark in marks):
        raise ValueError(f"{item['name']} marks a prediction that it does not have")
    return SessionTile(item["name"], item["source"], spec, item["panorama_height_px"], found, marks)


def _read_predictions(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Annotations of each picture, in the order of the file, which is that of the run."""
    try:
        data = json.loads(path.read_text("utf-8"))
        names = {image["id"]: image["file_name"] for image in data["images"]}
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in names.values()}
        for annotation in data["annotations"]:
            found[names[annotation["image_id"]]].append(annotation)
    except DAMAGE as error:
        raise LabelsError(f"{path} cannot be read: {_reason(error)}", mend="sample the run again") from error
    return found


def _instances(rows: list[dict[str, Any]]) -> Instances:
    """Categories of the file are the model's classes, counted from 1."""
    boxes = np.array([row["bbox"] for row in rows], np.float32).reshape(-1, 4)
    boxes[:, 2:] += boxes[:, :2]
    scores = np.array([row["score"] for row in rows], np.float32)
    labels = np.array([row["category_id"] - 1 for row in rows], np.int32)
    return Instances(boxes, scores, labels, tuple(decode(row["segmentation"]) for row in rows))
