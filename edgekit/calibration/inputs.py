"""Where pairs come from: a session folder, labels with a run, or a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgekit.calibration.pairs import Pairs
from edgekit.calibration.session.gather import GatheredPairs, gather_pairs
from edgekit.calibration.session.manifest import IMAGES, MANIFEST, Session, find_session, read_session
from edgekit.calibration.session.prelabels import corrected_labels
from edgekit.calibration.session.run_tiles import read_run_facts, read_run_tiles
from edgekit.calibration.table import read_pairs
from edgekit.errors import LabelsError, ProfileError
from edgekit.labels import read_labels


@dataclass(frozen=True)
class InputRequest:
    """What the person named."""

    source: Path | None
    """A session folder, a path in one, or labels."""
    run: Path | None = None
    labels: Path | None = None
    """Labels that lie elsewhere than in the session."""
    table: Path | None = None
    class_map: Mapping[str, str] | None = None
    unit_pattern: str | None = None
    """Group 1 names what a tile of the table was cut from."""


@dataclass(frozen=True)
class ModelFacts:
    """Which model the predictions are of."""

    model_id: str
    model: str
    precision: str
    score_floor: float


@dataclass(frozen=True, eq=False)
class FitInputs:
    """Pairs and what is known of them."""

    pairs: Pairs
    model: ModelFacts | None
    """None for a table: it does not say."""
    origin: str
    """Name of the labels or the table."""
    labels: int | None
    labelled_tiles: int | None
    skipped: tuple[str, ...]
    hits: npt.NDArray[np.bool_] | None
    """See `GatheredPairs.hits`."""


def load_inputs(request: InputRequest) -> FitInputs:
    """Read labels and predictions and pair them.

    Raises:
        LabelsError: labels that cannot be read or match no tile, or a call that names too little or too much.
        RunFolderError: the run cannot be read.
        ProfileError: the session's model is not the run's.
        CalibrationRefused: a table with values that are not finite or not between 0 and 1.
    """
    _require_effect(request)
    source = request.source or request.labels
    if request.table is not None:
        return _of_table(request.table, request.unit_pattern)
    if source is None:
        raise LabelsError("neither labels nor a table were named", mend="name a session, labels, or --pairs TABLE.csv")
    if not source.exists():
        raise LabelsError(f"there is no {source}", mend="name a session folder, or labels")
    folder = find_session(source)
    if folder is not None:
        return _of_session(read_session(folder), source, request)
    if request.labels not in (None, source):
        raise LabelsError(f"{source} is no session, and --labels names others", mend="leave one of them out")
    if source.suffix.lower() in (".csv", ".tsv"):
        raise LabelsError(f"{source} is a table, no labels", mend=f"name it with --pairs {source}")
    if request.run is None:
        mend = f"name the run (--run), or a session folder with its {MANIFEST}"
        raise LabelsError(f"the labels in {source} say nothing of confidences", mend=mend)
    return _of_run(source, request.run, request)


def _require_effect(request: InputRequest) -> None:
    """Pass where everything that was named is used: what has no effect is a misunderstanding."""
    if request.table is None and request.unit_pattern is not None:
        raise LabelsError("--unit-pattern is for a table", mend="labels tell their units; leave it out")
    if request.table is not None and (request.source is not None or request.labels is not None):
        raise LabelsError("a table and labels were named", mend="leave one of them out")
    if request.table is not None and request.class_map:
        raise LabelsError("--class-map is for labels: a table has no classes", mend="leave it out")


def _of_table(path: Path, unit_pattern: str | None) -> FitInputs:
    pairs = read_pairs(path, unit_pattern=unit_pattern)
    if not len(pairs):
        raise LabelsError(f"{path} holds no pairs, only a head", mend="write a line for each prediction below it")
    return FitInputs(pairs, None, path.name, None, None, (), None)


def _of_session(session: Session, source: Path, request: InputRequest) -> FitInputs:
    inside = source if source.resolve() != session.folder.resolve() else None
    path = request.labels or inside or corrected_labels(session)
    if request.run is not None:
        _require_same_model(session, request.run)
    labels = read_labels(path, images=session.folder / IMAGES, class_names=session.class_names)
    found = gather_pairs(labels, session.by_name, session.class_names, class_map=request.class_map)
    facts = ModelFacts(session.model_id, session.model, session.precision, session.score_floor)
    return _inputs(found, facts, f"{session.folder.resolve().name}: {path.name}")


def _of_run(path: Path, run: Path, request: InputRequest) -> FitInputs:
    tiles = read_run_tiles(run)
    facts = tiles.facts
    labels = read_labels(path, images=path if path.is_dir() else path.parent, class_names=facts.class_names)
    found = gather_pairs(labels, tiles.by_name, facts.class_names, class_map=request.class_map)
    return _inputs(found, ModelFacts(facts.model_id, facts.model, facts.precision, facts.score_floor), path.name)


def _inputs(found: GatheredPairs, facts: ModelFacts, origin: str) -> FitInputs:
    return FitInputs(found.pairs, facts, origin, found.labels, found.labelled_tiles, found.skipped, found.hits)


def _require_same_model(session: Session, run: Path) -> None:
    other = read_run_facts(run).model_id
    if other != session.model_id:
        what = f"the session was sampled with model {session.model_id[:12]}, {run} is of {other[:12]}"
        raise ProfileError(what, mend="sample that run, or leave --run out")
