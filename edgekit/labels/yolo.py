"""Read YOLO segmentation labels: one text file a picture, a line an object, coordinates as shares of the size."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from edgekit.errors import LabelsError
from edgekit.labels.collect import Drawn, OddLog, finish, list_pictures, picture_size
from edgekit.labels.model import LabelledInstance, LabelledPicture, LabelSet
from edgekit.labels.outline import polygon_points, rectangle


def read_yolo(labels: Path, *, images: Path, class_names: tuple[str, ...]) -> LabelSet:
    """Read YOLO-seg labels.

    The format has one outline an object: whoever wrote it has joined or dropped the parts of a split fruit. A row of
    five numbers is a box and is kept as a rectangle without an outline.

    Args:
        labels: folder of the text files, laid out as the pictures are.
        images: folder of the pictures; one without a text file has no objects.
        class_names: names in the order of the class numbers (`names` of data.yaml).

    Raises:
        LabelsError: no pictures, or a picture that cannot be read.
    """
    log = OddLog()
    pictures: list[LabelledPicture] = []
    files = list_pictures(images)
    if not files:
        raise LabelsError(f"no pictures in {images}")
    known = set()
    for file in files:
        name = file.relative_to(images).as_posix()
        text = labels / file.relative_to(images).with_suffix(".txt")
        known.add(text)
        size_wh = picture_size(file)
        pictures.append(LabelledPicture(name, size_wh, tuple(_instances(text, (name, size_wh), class_names, log))))
    for stray in sorted(set(labels.rglob("*.txt")) - known):
        if stray.name not in ("classes.txt", "train.txt", "val.txt", "test.txt"):
            log.note_file("refused", f"{stray.name} has no picture in {images}")
    return LabelSet(tuple(pictures), class_names, tuple(log.entries), (), str(labels))


def _instances(
    text: Path, picture: tuple[str, tuple[int, int]], class_names: tuple[str, ...], log: OddLog
) -> list[LabelledInstance]:
    name, size_wh = picture
    found: list[LabelledInstance] = []
    if not text.is_file():
        return found
    for number, line in enumerate(text.read_text("utf-8", "replace").splitlines(), 1):
        if not line.strip():
            continue
        row = f"{text.name}#{number}"
        try:
            drawn = _drawn(line.split(), row, size_wh, class_names)
        except LabelsError as error:
            log.note(row, name, "refused", error.what)
            continue
        if not drawn.has_outline:
            log.note(row, name, "kept", "a box row: taken as a rectangle without an outline")
        instance = finish(drawn, name, size_wh, log)
        if instance is not None:
            found.append(instance)
    return found


def _drawn(cells: list[str], row: str, size_wh: tuple[int, int], class_names: tuple[str, ...]) -> Drawn:
    try:
        number, shares = int(cells[0]), np.array([float(cell) for cell in cells[1:]])
    except ValueError:
        raise LabelsError(f"a row that is no list of numbers: {' '.join(cells)[:40]}") from None
    if not 0 <= number < len(class_names):
        raise LabelsError(f"class {number} with {len(class_names)} class names")
    if len(shares) == 4:
        x, y, width, height = shares * [size_wh[0], size_wh[1], size_wh[0], size_wh[1]]
        if not np.isfinite(shares).all() or width <= 0 or height <= 0:
            raise LabelsError("a box without an area")
        corners = rectangle(x - width / 2, y - height / 2, x + width / 2, y + height / 2)
        return Drawn(row, class_names[number], (corners,), has_outline=False)
    if len(shares) and np.abs(shares).max() > 2:
        raise LabelsError(f"coordinate {np.abs(shares).max():g}: YOLO's are shares of the size, 0 to 1")
    return Drawn(row, class_names[number], (polygon_points(shares) * size_wh,))
