"""Real tiles out of a folder of pictures, to calibrate int8 and to compare artifacts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import cv2
import numpy as np
import numpy.typing as npt

from edgekit.contracts import Image
from edgekit.errors import SourceError

Item = TypeVar("Item")
SUFFIXES = frozenset((".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff", ".bmp"))


@dataclass(frozen=True, eq=False)
class Tiles:
    """Tiles and where they come from."""

    tiles: npt.NDArray[np.uint8]
    """uint8, N x S x S x 3, RGB."""
    pictures: int
    """Pictures that could be read."""
    skipped: tuple[str, ...]
    """Files that are no pictures or are cut short, each with its reason."""


def read_tiles(folder: Path, *, size_px: int, limit: int, at_least: int) -> Tiles:
    """Cut pictures into tiles, spread evenly over the folder.

    A picture of the tile's size is one tile; a larger one is cut into a grid, a smaller one gets a black border.

    Args:
        folder: pictures, in any number of sub-folders.
        size_px: side of a tile.
        limit: most tiles to return.
        at_least: fewest tiles that are of any use.

    Raises:
        SourceError: no such folder, or too few tiles; how many files were skipped is told.
    """
    if not folder.is_dir():
        raise SourceError(f"no folder of pictures {folder}")
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    skipped: list[str] = []
    tiles: list[Image] = []
    pictures = 0
    chosen = spread(files, limit)
    for path in (*chosen, *(path for path in files if path not in set(chosen))):
        if len(tiles) >= limit:
            break
        picture = read_picture(path)
        if isinstance(picture, str):
            skipped.append(f"{path.name}: {picture}")
            continue
        pictures += 1
        share = max(1, -(-limit // max(len(files), 1)))
        tiles += spread(list(cut(picture, size_px)), share)
    tiles = tiles[:limit]
    if len(tiles) < at_least:
        raise SourceError(
            f"{folder} gives {len(tiles)} tiles, {at_least} are needed ({len(skipped)} of {len(files)} files skipped)",
            mend="give a folder with more pictures of the scene that the model will see",
        )
    return Tiles(np.stack(tiles), pictures, tuple(skipped))


def read_picture(path: Path) -> Image | str:
    """A picture as RGB, turned as its EXIF data says; or, as text, why it cannot be read."""
    try:
        data = np.fromfile(path, np.uint8)
    except OSError as error:
        return error.strerror or "cannot be read"
    if not len(data):
        return "empty file"
    try:
        decoded = cv2.imdecode(data, cv2.IMREAD_COLOR)  # refuses what was cut short, which imread pads with grey
    except cv2.error:
        decoded = None
    if decoded is None:
        return "no picture, or cut short"
    return np.ascontiguousarray(decoded[..., ::-1])


def cut(picture: Image, size_px: int) -> Iterator[Image]:
    """The tiles of a grid that starts at the top left corner; what is left over at the right and bottom is left out."""
    height, width = picture.shape[:2]
    if height < size_px or width < size_px:
        bordered = np.zeros((max(height, size_px), max(width, size_px), 3), np.uint8)
        bordered[:height, :width] = picture
        picture = bordered
    for y in range(0, picture.shape[0] - size_px + 1, size_px):
        for x in range(0, picture.shape[1] - size_px + 1, size_px):
            yield picture[y : y + size_px, x : x + size_px]


def spread(items: Sequence[Item], count: int) -> list[Item]:
    """At most `count` items, evenly spaced."""
    if len(items) <= count:
        return list(items)
    return [items[index] for index in np.linspace(0, len(items) - 1, count).round().astype(int)]
