"""Names of rows never leave the run's folder, whatever a keyboard or a marker says."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from edgekit.errors import SettingsError
from edgekit.runtime.control import row_name
from edgekit.runtime.control.row_name import LONGEST


@pytest.mark.parametrize(("given_name", "name"), [
    ("12", "12"), (" 12 a\t", "12_a"), ("Reihe-Ä", "Reihe-Ä"), ("Reihe-A\u0308", "Reihe-Ä"), ("１２", "12"),
    ("ハウス3", "ハウス3"), ("row.7", "row.7"), ("x" * LONGEST, "x" * LONGEST), ("1..2", "1..2"),
    ("हिन्दी", "हिन्दी"),
])  # fmt: skip
def test_names(given_name, name) -> None:
    assert row_name(given_name) == name


@pytest.mark.parametrize("text", [
    "", "  ", "..", ".", "../12", "/etc/passwd", "a/b", "a\\b", "-rf", ".hidden", "=1+1", "@x", "12\0", "12\n13;",
    "a:b", "a\u202eb", "\u200b", "CON", "nul.txt", "com1", "12.", "x" * (LONGEST + 1), "\ufdfa" * 20, "x" * 10_000,
    "\ud800", "a" + "\u0301" * 100, "．．／", "a|b", "a\x1b[2J",
])  # fmt: skip
def test_what_is_no_name(text) -> None:
    with pytest.raises(SettingsError) as found:
        row_name(text)
    assert len(str(found.value)) < 400
    assert str(found.value).isprintable()


@given(st.text() | st.text(alphabet="./\\~-_ 0aÄ=\0\n", max_size=12))
@example("\u2024\u2024/x")
def test_a_name_stays_in_its_folder_and_is_its_own_name(text) -> None:
    try:
        name = row_name(text)
    except SettingsError:
        return
    folder = Path("/run/folder")
    assert Path(os.path.normpath(folder / name)).parent == folder
    assert row_name(name) == name
    assert unicodedata.normalize("NFC", name) == name
    assert len(name.encode()) <= 4 * LONGEST
    assert name[0].isalnum()
    assert not set(name) & set('\\/:*?"<>|,;\n\r\0=+@')
