"""What was drawn independently: tiles, or the pictures that several tiles were cut from.

Tiles of one picture share light, leaves and ripeness. On two halves of a set of pictures, thresholds whose error was
taken over tiles agreed within it in 70 to 76 % of 200 splits, with the picture as unit in 95 %
(bench/calibration/real_tiles.py --halves).
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from edgekit.errors import SettingsError

Texts = npt.NDArray[np.str_]

NUMBERED = re.compile(r"(.+)@\d+")
"""`IMG_0991.jpg@12`: the twelfth tile of a picture."""
PLACED = re.compile(r"(.+?)[_-]\d{1,5}[_-]\d{1,5}(?:\.\w+)?")
"""`IMG_0991_512_1024.png`: where the tile lies in its picture; dates and times are longer."""


def units_by_name(tiles: Texts) -> Texts | None:
    """The picture of each tile, where the names of tiles tell it; None where they do not.

    Args:
        tiles: text, n; names of tiles, one for each pair.
    """
    pictures = _stripped(_stripped(tiles, NUMBERED), PLACED)
    return pictures if len(np.unique(pictures)) < len(np.unique(tiles)) else None


def _stripped(names: Texts, pattern: re.Pattern[str]) -> Texts:
    """Group 1 of every name, where the pattern fits all of them."""
    found = [pattern.fullmatch(name) for name in names.tolist()]
    return np.array([match.group(1) for match in found if match], np.str_) if all(found) else names


def units_by_pattern(tiles: Texts, pattern: str) -> Texts:
    """Group 1 of a regular expression that fits the beginning of each tile's name.

    Raises:
        SettingsError: no such expression, one without a group, or one that a name does not fit.
    """
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise SettingsError(f"the unit pattern {pattern!r} is none: {error}") from error
    if wanted.groups < 1:
        mend = "put what names the picture into brackets: '(.*)_[0-9]+_[0-9]+'"
        raise SettingsError(f"the unit pattern {pattern!r} has no group", mend=mend)
    found = {name: wanted.match(name) for name in np.unique(tiles).tolist()}
    for name, match in found.items():
        if match is None or not match.group(1):
            raise SettingsError(f"the unit pattern {pattern!r} does not fit the tile {name!r}")
    return np.array([found[name].group(1) for name in tiles.tolist()], np.str_)  # type: ignore[union-attr]
