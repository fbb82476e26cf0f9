"""Pairs as a table: CSV with the columns confidence, iou and tile, and perhaps height and unit."""

from __future__ import annotations

import codecs
import csv
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgekit.calibration.pairs import Floats, Pairs, require_shares
from edgekit.calibration.units import Texts, units_by_name, units_by_pattern
from edgekit.errors import LabelsError

COLUMNS = ("confidence", "iou", "tile")
HEIGHT, UNIT = "height", "unit"


@dataclass(frozen=True)
class _Table:
    """The cells of a file, each row with the line that it stands in: that is where a person looks for it."""

    path: Path
    names: list[str]
    rows: list[list[str]]
    lines: list[int]

    def place(self, row: int) -> str:
        return f"{self.path}, line {self.lines[row]}"

    def texts(self, name: str) -> Texts:
        """One column as text.

        Raises:
            LabelsError: a cell is empty.
        """
        found = self._cells(name)
        if "" in found:
            row = found.index("")
            raise LabelsError(f"{self.place(row)}: no {name}", mend=f"name the {name} of every prediction")
        return np.array(found, np.str_)

    def shares(self, name: str) -> Floats:
        """One column as numbers from 0 to 1.

        Raises:
            LabelsError: a cell is no number.
            CalibrationRefused: a number that is not finite or not between 0 and 1.
        """
        cells = enumerate(self._cells(name))
        column = np.array([_number(cell, f"{self.place(row)}: {name}") for row, cell in cells], np.float64)
        require_shares(name, column, place=self.place)
        return column

    def _cells(self, name: str) -> list[str]:
        at = self.names.index(name)
        return [row[at].strip() if at < len(row) else "" for row in self.rows]


def read_pairs(path: Path, *, unit_pattern: str | None = None) -> Pairs:
    """Pairs of a CSV file; further columns are left alone, and capitals in the head do not matter.

    Units come from the pattern, else from the column `unit`, else from the names of tiles that are cut from pictures.

    Raises:
        SettingsError: a pattern that does not fit.
        LabelsError: no such file, no CSV, a column is missing, or a cell is no number.
        CalibrationRefused: a number that is not finite or not between 0 and 1.
    """
    table = _read_table(path)
    tiles = table.texts("tile")
    if unit_pattern is not None:
        units: Texts | None = units_by_pattern(tiles, unit_pattern)
    else:
        units = table.texts(UNIT) if UNIT in table.names else units_by_name(tiles)
    height = table.shares(HEIGHT) if HEIGHT in table.names else None
    return Pairs(table.shares("confidence"), table.shares("iou"), tiles, height, units)


def _read_table(path: Path) -> _Table:
    text = _read_text(path)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    try:
        names = [name.strip().casefold() for name in next(reader, [])]
        found = [(row, reader.line_num) for row in reader if any(map(str.strip, row))]
    except csv.Error as error:
        what = f"{path}, line {reader.line_num} is no CSV: {error}"
        raise LabelsError(what, mend="look for a quotation mark without its partner") from error
    table = _Table(path, names, [row for row, _ in found], [line for _, line in found])
    _require_form(table)
    return table


def _require_form(table: _Table) -> None:
    """Every column is there once, and no row is longer than the head."""
    path, names = table.path, table.names
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        mend = f"it has {', '.join(names)}; confidence, iou and tile are needed"
        raise LabelsError(f"{path} has no column {', '.join(missing)}", mend=mend)
    for name in (*COLUMNS, HEIGHT, UNIT):
        if names.count(name) > 1:
            raise LabelsError(f"{path} has {names.count(name)} columns {name}", mend="leave one of them")
    for row, cells in enumerate(table.rows):
        if any(map(str.strip, cells[len(names) :])):
            mend = "with decimal commas separate the columns by semicolons"
            raise LabelsError(f"{table.place(row)} has {len(cells)} cells, the head {len(names)}", mend=mend)


def _read_text(path: Path) -> str:
    """The text of a file, or what it is instead."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LabelsError(f"cannot read {path}: {error.strerror}") from error
    if not data.strip():
        raise LabelsError(f"{path} is empty: there are no columns", mend="write confidence, iou and tile into it")
    as_csv = "save it as CSV UTF-8 in the spreadsheet"
    if data.startswith(b"PK"):
        raise LabelsError(f"{path} is a spreadsheet or an archive, no CSV", mend=as_csv)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise LabelsError(f"{path} is text in UTF-16, not in UTF-8", mend=as_csv)
    if b"\0" in data:
        raise LabelsError(f"{path} holds zero bytes: it is damaged, or no text", mend=as_csv)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"{path}, line {line} is not UTF-8 (byte {data[error.start]:#04x})"
        raise LabelsError(what, mend=as_csv) from error


def _delimiter(text: str) -> str:
    """Comma, or what spreadsheets of other countries write: semicolon (with decimal commas) or tabulator."""
    head = text.partition("\n")[0]
    return next((mark for mark in (";", "\t") if mark in head and "," not in head), ",")


def _number(text: str, place: str) -> float:
    try:
        return float(text.replace(",", "."))
    except ValueError as error:
        mend = "write a share from 0 to 1, such as 0.87 for 87 %" if text.endswith("%") else "write a number"
        raise LabelsError(f"{place} is {text or 'missing'}", mend=mend) from error
