"""Pairs as a table: CSV with the columns confidence, iou and tile, and perhaps height and unit."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TextIO

import numpy as np

from edgekit.atomic import write_atomic
from edgekit.calibration.pairs import Pairs
from edgekit.calibration.units import Texts, units_by_name, units_by_pattern
from edgekit.errors import LabelsError

COLUMNS = ("confidence", "iou", "tile")
HEIGHT, UNIT = "height", "unit"


def read_pairs(path: Path, *, unit_pattern: str | None = None) -> Pairs:
    """Pairs of a CSV file; further columns are left alone.

    Units come from the pattern, else from the column `unit`, else from the names of tiles that are cut from pictures.

    Raises:
        SettingsError: a pattern that does not fit.
        LabelsError: no such file, a column is missing, or a cell is no number.
        CalibrationRefused: a number that is not finite or not between 0 and 1.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, delimiter=_delimiter(file))
            names = [name.strip() for name in reader.fieldnames or []]
            reader.fieldnames = names
            rows = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise LabelsError(f"cannot read {path}: {error}") from error
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        mend = f"it has {', '.join(names) or 'no columns'}; confidence, iou and tile are needed"
        raise LabelsError(f"{path} has no column {', '.join(missing)}", mend=mend)
    numbers = {name: _numbers(rows, name, path) for name in ("confidence", "iou", HEIGHT) if name in names}
    tiles = _texts(rows, "tile", path)
    if unit_pattern is not None:
        units: Texts | None = units_by_pattern(tiles, unit_pattern)
    else:
        units = _texts(rows, UNIT, path) if UNIT in names else units_by_name(tiles)
    return Pairs(numbers["confidence"], numbers["iou"], tiles, numbers.get(HEIGHT), units)


def write_pairs(pairs: Pairs, path: Path) -> None:
    """Write pairs so that `read_pairs` gives the same ones back, to the last bit.

    Raises:
        StorageError: the file cannot be written.
    """
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    columns = {
        "confidence": pairs.confidence,
        "iou": pairs.iou,
        "tile": pairs.tile,
        HEIGHT: pairs.height,
        UNIT: pairs.unit,
    }
    there = {name: column.tolist() for name, column in columns.items() if column is not None}
    table.writerow(there)
    table.writerows(zip(*there.values(), strict=True))
    write_atomic(path, text.getvalue().encode())


def _delimiter(file: TextIO) -> str:
    """Comma, or what spreadsheets of other countries write: semicolon (with decimal commas) or tabulator."""
    head = file.readline()
    file.seek(0)
    return next((mark for mark in (";", "\t") if mark in head and "," not in head), ",")


def _texts(rows: list[dict[str, str]], name: str, path: Path) -> Texts:
    found = np.array([(row[name] or "").strip() for row in rows], np.str_)
    if (found == "").any():
        line = int(np.argmax(found == "")) + 2
        raise LabelsError(f"{path}, line {line}: no {name}", mend=f"name the {name} of every prediction")
    return found


def _numbers(rows: list[dict[str, str]], name: str, path: Path) -> np.typing.NDArray[np.float64]:
    return np.array([_number(cells[name], f"{path}, line {row + 2}: {name}") for row, cells in enumerate(rows)], float)


def _number(text: str | None, place: str) -> float:
    try:
        return float((text or "").replace(",", "."))
    except ValueError as error:
        raise LabelsError(f"{place} is {text or 'missing'}", mend="write a number") from error
