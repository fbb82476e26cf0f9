"""Names of rows: they come from a keyboard or a marker and become names of folders and cells of tables."""

from __future__ import annotations

import unicodedata

from edgekit.errors import SettingsError

LONGEST = 48
"""Characters of a name; with four bytes each and the suffixes of a run it stays below the 255 bytes of a file name."""
_PUNCTUATION = "-_."
_WINDOWS = frozenset(
    {"CON", "PRN", "AUX", "NUL"} | {f"{port}{number}" for port in ("COM", "LPT") for number in "123456789"}
)
"""Device names of Windows, where results are often copied to."""


def row_name(text: str) -> str:
    """A row's name as it is used in folders, tables and the database: NFKC, blanks as `_`.

    Letters and digits of any script, `-`, `_` and `.` are taken; the first is a letter or a digit, so that no name is a
    hidden file, an option, a path or the formula of a spreadsheet.

    Raises:
        SettingsError: empty, too long, or with anything else in it.
    """
    name = "_".join(unicodedata.normalize("NFKC", text[: 4 * LONGEST]).split())
    mend = f"use up to {LONGEST} letters, digits, '-', '_' and '.', the first a letter or a digit"
    shown = repr(text[:LONGEST])[:60]  # repr: what a terminal would take as an order is told by its number
    if not name:
        raise SettingsError("a row without a name", mend=mend)
    if len(text) > 4 * LONGEST or len(name) > LONGEST:
        raise SettingsError(f"the name of the row is too long: {shown}...", mend=mend)
    if not name[0].isalnum() or not all(_taken(character) for character in name) or name.endswith("."):
        raise SettingsError(f"{shown} is no name for a row", mend=mend)
    if name.split(".")[0].upper() in _WINDOWS:
        raise SettingsError(f"{shown} is no name for a row: Windows cannot store it", mend="choose another name")
    return name


def _taken(character: str) -> bool:
    """Letters, digits, the accents and vowel signs that follow letters, and three punctuation marks."""
    return character in _PUNCTUATION or unicodedata.category(character)[0] in "LMN"
