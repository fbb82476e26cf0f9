"""What a marker says: `row:NAME`, `row:NAME:SIDE`, with `:start` or `:end` behind where it matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from edgekit.errors import SettingsError
from edgekit.runtime.control.row_name import row_name

Side = Literal["left", "right"]
End = Literal["start", "end"]

_PREFIX = "row"
_SIDES: dict[str, Side] = {"left": "left", "right": "right"}
_ENDS: dict[str, End] = {"start": "start", "end": "end"}


@dataclass(frozen=True)
class RowMark:
    """The row that a marker stands for."""

    row: str
    """A name that is safe as a name of folders and files (see `row_name`)."""
    side: Side | None = None
    """The row is seen on this side of the trolley; None: the marker is for both."""
    end: End | None = None
    """None: the first sight opens the row, the next one closes it."""


def parse_payload(text: str) -> RowMark | None:
    """The row that a text names; None where the text is no row's: labels of goods carry QR codes as well.

    Nothing of the text gets through that `row_name` does not take, so no marker can name a path.
    """
    prefix, _, rest = text.strip().partition(":")
    if prefix.casefold() != _PREFIX or not rest:
        return None
    words = rest.split(":")
    name, options = words[0], [word.strip().casefold() for word in words[1:]]
    sides = [_SIDES[word] for word in options if word in _SIDES]
    ends = [_ENDS[word] for word in options if word in _ENDS]
    if len(sides) > 1 or len(ends) > 1 or len(sides) + len(ends) != len(options):
        return None
    try:
        return RowMark(row_name(name), sides[0] if sides else None, ends[0] if ends else None)
    except SettingsError:
        return None
