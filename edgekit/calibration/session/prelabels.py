"""Predictions as labels to correct, in the forms of three tools, and which of them a person has corrected."""

from __future__ import annotations

import hashlib
from pathlib import Path

from edgekit.atomic import make_folder
from edgekit.calibration.session.manifest import IMAGES, Session, picture_of
from edgekit.calibration.session.tiles import SessionTile
from edgekit.contracts import Instances
from edgekit.errors import LabelsError
from edgekit.labels import LabelSet, write_coco, write_cvat, write_labelme

COCO = "coco/labels.json"
LABELME = "labelme"
CVAT = "cvat/annotations.xml"
FORMS = (COCO, LABELME, CVAT)
"""Paths in a session folder, one for each tool."""


def write_prelabels(
    folder: Path, tiles: tuple[SessionTile, ...], class_names: tuple[str, ...], threshold: float
) -> dict[str, str]:
    """Write what a person starts from; return the digest of every file.

    Marked predictions are all written, whatever their confidence; of whole tiles those at or above the threshold.

    Raises:
        StorageError: a file cannot be written.
    """
    shown = [tile.checked if tile.marks is not None else _sure(tile, threshold) for tile in tiles]
    pictures = tuple(picture_of(tile, seen, class_names) for tile, seen in zip(tiles, shown, strict=True))
    labels = LabelSet(pictures, class_names)
    for name in (COCO, CVAT):
        make_folder((folder / name).parent)
    write_coco(labels, folder / COCO, outline="polygon", tolerance_px=0.8)
    write_cvat(labels, folder / CVAT)
    write_labelme(labels, folder / LABELME, images=folder / IMAGES)
    return {name: digest for form in FORMS for name, digest in _digests(folder, form).items()}


def corrected_labels(session: Session) -> Path:
    """The one form in a session folder that was changed since it was written.

    Raises:
        LabelsError: none was changed, or more than one.
    """
    changed = [form for form in FORMS if _is_changed(session, form)]
    if len(changed) == 1:
        return session.folder / changed[0]
    forms = ", ".join(changed or FORMS)
    if not changed:
        what = f"nothing was corrected in {session.folder} ({forms})"
        raise LabelsError(what, mend="correct the labels first, or name them: --labels PATH")
    raise LabelsError(f"several forms were changed in {session.folder}: {forms}", mend="name one: --labels PATH")


def _sure(tile: SessionTile, threshold: float) -> Instances:
    return tile.instances.select(tile.instances.scores >= threshold)


def _is_changed(session: Session, form: str) -> bool:
    written = {
        name: digest for name, digest in session.prelabels.items() if name == form or name.startswith(form + "/")
    }
    return (session.folder / form).exists() and _digests(session.folder, form) != written


def _digests(folder: Path, form: str) -> dict[str, str]:
    path = folder / form
    files = sorted(path.rglob("*.json")) if path.is_dir() else [path] if path.exists() else []
    return {file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
