"""Tables of pairs: each thing that can be wrong with a file is told by its line, with how to mend it."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgekit.calibration import CalibrationRefused, Reason
from edgekit.calibration.inputs import InputRequest, load_inputs
from edgekit.calibration.table import read_pairs
from edgekit.errors import LabelsError

HEAD = "confidence,iou,tile\n"


def table(folder: Path, data: str | bytes) -> Path:
    path = folder / "pairs.csv"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


BROKEN = {
    "empty": ("", "pairs.csv is empty"),
    "a spreadsheet": (b"PK\x03\x04" + bytes(40), "spreadsheet or an archive, no CSV - save it as CSV UTF-8"),
    "utf-16": (HEAD.encode("utf-16"), "UTF-16, not in UTF-8 - save it as CSV UTF-8"),
    "latin-1": (
        (HEAD + "0.5,0.5,t\n0.5,0.5,r\u00f6t\n").encode("latin-1"),
        "line 3 is not UTF-8 .* save it as CSV UTF-8",
    ),
    "two columns of a name": ("iou,iou,confidence,tile\n0,0,0,t\n", "has 2 columns iou"),
    "no such column": ("confidence,iou\n0,0\n", "has no column tile - it has confidence, iou;"),
    "decimal commas between commas": (HEAD + "0,9,0,8,t\n", "line 2 has 5 cells, the head 3 - .* semicolons"),
    "text": (HEAD + "0.5,0.5,t\n0.5,good,t\n", "line 3: iou is good - write a number"),
    "a percent sign": (HEAD + "87 %,0.5,t\n", "line 2: confidence is 87 % - write a share .* 0.87 for 87 %"),
    "a quotation mark without its partner": (HEAD + '0.5,0.5,"t\n0.4,0.4,t\n', "is no CSV: .* quotation mark"),
    "zeros": (HEAD + "0.5,0.5,t\0\n", "zero bytes"),
    "a cell is missing": (HEAD + "0.5\n", "line 2: no tile"),
}


def test_a_head_alone_is_no_reason_to_label_more_tiles(tmp_path):
    with pytest.raises(LabelsError, match="holds no pairs, only a head"):
        load_inputs(InputRequest(None, table=table(tmp_path, HEAD)))


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_wrong_with_a_file_is_told(kind, tmp_path):
    data, told = BROKEN[kind]
    with pytest.raises(LabelsError, match=told):
        read_pairs(table(tmp_path, data))


@pytest.mark.parametrize(
    ("value", "reason", "told"),
    [
        ("87", Reason.NOT_A_SHARE, "outside 0 to 1, the first in .*, line 5: 87 - if these are percents, divide"),
        ("-0.2", Reason.NOT_A_SHARE, "line 5: -0.2 - mend or remove"),
        ("nan", Reason.NOT_FINITE, "1 value of confidence not a finite number, the first in .*, line 5: nan"),
        ("1e400", Reason.NOT_FINITE, "line 5: inf"),
    ],
)
def test_places_are_lines_of_the_file_although_lines_are_empty(value, reason, told, tmp_path):
    with pytest.raises(CalibrationRefused, match=told) as caught:
        read_pairs(table(tmp_path, f"{HEAD}0.5,0.5,t\n\n,,\n{value},0.5,t\n"))
    assert caught.value.reason is reason


def test_what_spreadsheets_write_is_read(tmp_path):
    pairs = read_pairs(table(tmp_path, b"\xef\xbb\xbfConfidence;IoU;tile;\r\n0,5;0,25;t\xc3\xb6;\r\n;;;\r\n"))
    assert (pairs.confidence.tolist(), pairs.iou.tolist(), pairs.tile.tolist()) == ([0.5], [0.25], ["t\u00f6"])
