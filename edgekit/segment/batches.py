"""From tiles of any number to batches of a fixed size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from edgekit.contracts import ModelInfo
from edgekit.errors import ModelError


def check_tiles(tiles: npt.NDArray[np.uint8], info: ModelInfo) -> None:
    """Refuse what the graph cannot take, before it runs.

    Raises:
        ModelError: another type, layout or size than the model's; both are named.
    """
    size = info.tile_size_px
    if tiles.dtype != np.uint8:
        raise ModelError(
            f"tiles are {tiles.dtype}, the model takes uint8",
            mend="give the pixels as they are, 0 to 255: scaling and normalisation are in the graph",
        )
    if tiles.ndim != 4 or tiles.shape[1:] != (size, size, 3):
        got = " x ".join(str(length) for length in tiles.shape)
        raise ModelError(
            f"tiles are {got}, the model takes N x {size} x {size} x 3",
            mend=f"cut the panorama into tiles of {size} px, or export the model with another tile_size_px",
        )


def batches(tiles: npt.NDArray[np.uint8], batch: int) -> Iterator[tuple[npt.NDArray[np.uint8], int]]:
    """Contiguous batches of exactly `batch` tiles and how many of them are real; the last is padded with black."""
    for start in range(0, len(tiles), batch):
        part = tiles[start : start + batch]
        real = len(part)
        if real < batch:
            padded = np.zeros((batch, *tiles.shape[1:]), np.uint8)
            padded[:real] = part
            part = padded
        yield np.ascontiguousarray(part), real
