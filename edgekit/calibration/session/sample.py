"""Make a session folder: choose what to check in a run, and write pictures and pre-labels."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np

from edgekit.atomic import PARTIAL_SUFFIX, make_folder, storage_error, write_atomic
from edgekit.calibration.choose import choose_predictions, choose_tiles
from edgekit.calibration.session.manifest import IMAGES, Mode, Session, write_session
from edgekit.calibration.session.prelabels import write_prelabels
from edgekit.calibration.session.run_tiles import RunTiles, TilePixels, read_run_tiles
from edgekit.calibration.session.tiles import SessionTile
from edgekit.contracts import Image, Progress
from edgekit.errors import CalibrationError, RunFolderError


@dataclass(frozen=True)
class SampleRequest:
    """What to sample."""

    n: int
    """Predictions to check, or whole tiles to label."""
    mode: Mode = "marks"
    seed: int = 0


def sample_run(run: Path, folder: Path, request: SampleRequest, *, progress: Progress) -> Session:
    """Choose tiles of a run and write them as a session: pictures, predictions, and pre-labels in three forms.

    Raises:
        RunFolderError: the run cannot be read, or the folder holds something already.
        CalibrationError: the run has no predictions.
        StorageError: a file cannot be written.
    """
    _require_new(folder)
    found = read_run_tiles(run)
    tiles = choose(found, request)
    with _staged(folder) as staging:
        make_folder(staging / IMAGES)
        pixels = TilePixels(run)
        for done, tile in enumerate(tiles, 1):
            write_atomic(staging / IMAGES / tile.name, _png(pixels.read(tile)))
            progress("tiles", done, len(tiles))
        facts = found.facts
        prelabels = write_prelabels(staging, tiles, facts.class_names, facts.threshold)
        session = Session(
            facts.model_id, facts.model, facts.precision, facts.class_names, facts.score_floor, request.mode, prelabels,
            folder=staging, tiles=tiles,
        )  # fmt: skip
        write_session(session)
    return replace(session, folder=folder)


def _require_new(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise RunFolderError(f"{folder} is a file", mend="name a new folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise RunFolderError(f"{folder} is not empty", mend="name a new folder: labels in it must not be lost")


@contextmanager
def _staged(folder: Path) -> Iterator[Path]:
    """A folder beside `folder` that takes its name when the block ends well: a session is there whole or not at all."""
    staging = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:8]}{PARTIAL_SUFFIX}")
    make_folder(staging)
    try:
        yield staging
        _require_new(folder)  # another one may have been made meanwhile
        staging.rename(folder)
    except OSError as error:
        raise storage_error(folder, error) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def choose(run: RunTiles, request: SampleRequest) -> tuple[SessionTile, ...]:
    """The tiles of a session, in the order of the run, each with its marks.

    Raises:
        CalibrationError: the run has no predictions.
    """
    counts = [len(tile.instances) for tile in run.tiles]
    place = np.repeat(np.arange(len(run.tiles)), counts)
    confidence = np.concatenate([np.zeros(0), *(tile.instances.scores for tile in run.tiles)]).astype(np.float64)
    if not len(confidence):
        raise CalibrationError(f"{run.facts.folder} holds no predictions", mend="sample a run that saw fruit")
    if request.mode == "tiles":
        return tuple(run.tiles[number] for number in choose_tiles(confidence, place, request.n, seed=request.seed))
    rank = np.concatenate([np.arange(count) for count in counts])
    marks: dict[int, list[int]] = {}
    for row in choose_predictions(confidence, place, request.n, seed=request.seed):
        marks.setdefault(int(place[row]), []).append(int(rank[row]))
    return tuple(replace(run.tiles[number], marks=tuple(rows)) for number, rows in sorted(marks.items()))


def _png(image: Image) -> bytes:
    done, data = cv2.imencode(".png", cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
    if not done:
        raise ValueError(f"OpenCV cannot encode {image.shape} as PNG")
    return data.tobytes()
