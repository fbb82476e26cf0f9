"""Pairs of a confidence and the mask IoU that it stands for, with the tile that each was seen in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from edgekit.calibration.refusal import CalibrationRefused, Reason
from edgekit.wording import counted

Floats = npt.NDArray[np.float64]


class Grouping(NamedTuple):
    """Pairs put into groups."""

    names: tuple[str, ...]
    """Of the groups that hold at least one pair, sorted."""
    codes: npt.NDArray[np.intp]
    """intp, n; position of each pair's group in `names`."""

    @property
    def number(self) -> int:
        """Number of groups."""
        return len(self.names)

    @classmethod
    def of(cls, column: npt.NDArray[np.str_]) -> Grouping:
        """Groups of equal names."""
        names, codes = np.unique(column, return_inverse=True)
        return cls(tuple(str(name) for name in names), codes.astype(np.intp))


@dataclass(frozen=True, eq=False)
class Pairs:
    """n predictions and what became of them; element i of every column is prediction i.

    Raises:
        ValueError: columns of different lengths.
        CalibrationRefused: a value that is not finite, or that is not between 0 and 1.
    """

    confidence: Floats
    """float64, n; x, the score that the threshold acts on."""
    iou: Floats
    """float64, n; y, the best mask IoU over the labels of the tile, 0 where there is none."""
    tile: npt.NDArray[np.str_]
    """text, n; name of the tile. Predictions of one tile are not independent."""
    height: Floats | None = None
    """float64, n; where the fruit hangs, 0 at the top of the panorama and 1 at its bottom; None where unknown."""
    unit: npt.NDArray[np.str_] | None = None
    """text, n; what was drawn independently: the picture, or the stretch of row, that several tiles were cut from.
    None: the tile itself."""

    def __post_init__(self) -> None:
        columns = {"confidence": self.confidence, "iou": self.iou}
        if self.height is not None:
            columns["height"] = self.height
        n = len(self.confidence)
        for name, values in columns.items():
            column = np.array(values, np.float64)
            require_shares(name, column)
            self._set_column(name, column, n)
        self._set_column("tile", np.array(self.tile, np.str_), n)
        if self.unit is not None:
            self._set_column("unit", np.array(self.unit, np.str_), n)

    def _set_column(self, name: str, column: npt.NDArray[np.generic], n: int) -> None:
        if column.shape != (n,):
            raise ValueError(f"{name} must have {n} elements like confidence, got the shape {column.shape}")
        column.setflags(write=False)
        object.__setattr__(self, name, column)

    def __len__(self) -> int:
        return len(self.confidence)

    @cached_property
    def by_tile(self) -> Grouping:
        """Which tile each pair belongs to."""
        return Grouping.of(self.tile)

    @cached_property
    def by_unit(self) -> Grouping:
        """Which unit each pair belongs to: what is resampled as a whole."""
        return self.by_tile if self.unit is None else Grouping.of(self.unit)

    def select(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> Pairs:
        """The pairs that a boolean mask or an index names, in that order."""
        height = None if self.height is None else self.height[rows]
        unit = None if self.unit is None else self.unit[rows]
        return Pairs(self.confidence[rows], self.iou[rows], self.tile[rows], height, unit)

    @classmethod
    def concatenate(cls, parts: Sequence[Pairs]) -> Pairs:
        """All pairs of `parts`, in their order; heights and units are kept only where every part has them."""
        if not parts:
            return cls(np.zeros(0), np.zeros(0), np.zeros(0, np.str_))
        heights = [part.height for part in parts if part.height is not None]
        units = [part.unit for part in parts if part.unit is not None]
        return cls(
            np.concatenate([part.confidence for part in parts]),
            np.concatenate([part.iou for part in parts]),
            np.concatenate([part.tile for part in parts]),
            np.concatenate(heights) if len(heights) == len(parts) else None,
            np.concatenate(units) if len(units) == len(parts) else None,
        )


def pair_number(row: int) -> str:
    """Where a value lies, for messages: pairs are counted from 1."""
    return f"pair {row + 1}"


def require_shares(name: str, column: Floats, *, place: Callable[[int], str] = pair_number) -> None:
    """Pass where every value is a number from 0 to 1.

    Args:
        name: of the column, for messages.
        column: float64, n.
        place: what a row is called where the person looks for it, such as the line of the file.

    Raises:
        CalibrationRefused: NaN, infinities or anything outside 0 to 1; the first row of them is named.
    """
    for reason, bad, kind in (
        (Reason.NOT_FINITE, ~np.isfinite(column), "not a finite number"),
        (Reason.NOT_A_SHARE, (column < 0) | (column > 1), "outside 0 to 1"),
    ):
        if bad.any():
            row = int(np.argmax(bad))
            values = counted(int(bad.sum()), "value")
            what = f"{values} of {name} {kind}, the first in {place(row)}: {column.flat[row]:g}"
            raise CalibrationRefused(reason, what, mend=_mend(column))


def _mend(column: Floats) -> str:
    known = column[np.isfinite(column)]
    percents = len(known) > 0 and known.min() >= 0 and 2 < known.max() <= 100
    return "if these are percents, divide the column by 100" if percents else "mend or remove these rows"
