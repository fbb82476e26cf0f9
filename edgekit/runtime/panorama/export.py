"""A panorama on disk as one file: BigTIFF, a deep-zoom tree, or a preview."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np

from edgekit.atomic import atomic_path, make_folder, write_atomic
from edgekit.contracts import Image
from edgekit.errors import RunFolderError, SettingsError
from edgekit.runtime.panorama.segments import INDEX_NAME, SegmentReader
from edgekit.runtime.write_picture import picture_suffix, write_picture
from edgekit.wording import counted

_TILE_PX = 256
_PREVIEW_WIDTH_PX = 4000


def find_segments(path: Path, row: int = 0) -> Path:
    """The folder of segments in what a person names: the folder itself, or a run with one for each row.

    Raises:
        RunFolderError: there is none, or no such row.
    """
    rows = [path] if (path / INDEX_NAME).exists() else []
    rows = rows or sorted(index.parent for index in path.glob(f"panorama/*/{INDEX_NAME}"))
    if not rows:
        raise RunFolderError(f"no finished panorama in {path}", mend="name a run, or a folder of `panorama build`")
    if not 0 <= row < len(rows):
        raise RunFolderError(f"{path} has {counted(len(rows), 'row')}, asked for row {row}", mend="rows count from 0")
    return rows[row]


def check_tree(target: Path) -> None:
    """Refuse a deep-zoom tree whose folder is there already: its files would be written over.

    Raises:
        SettingsError: it is.
    """
    if target.suffix.lower() == ".dzi" and _tree_of(target).exists():
        hint = "name another file, or --force writes into it"
        raise SettingsError(f"{_tree_of(target)} is there already", mend=hint)


def export_panorama(folder: Path, target: Path) -> None:
    """Write one file (.tif, .tiff: BigTIFF, any width) or a deep-zoom tree (.dzi and the folder beside it).

    Raises:
        SettingsError: another ending.
        RunDamagedError: the panorama is unfinished or damaged.
        StorageError: the disk is full, read-only or failing.
    """
    reader = SegmentReader(folder)
    if target.suffix.lower() in (".tif", ".tiff"):
        _write_tiff(reader, target)
    elif target.suffix.lower() == ".dzi":
        _write_deep_zoom(reader, target)
    else:
        hint = "choose .tif (BigTIFF) or .dzi (deep zoom); a .png or .jpg is made by --preview"
        raise SettingsError(f"a panorama cannot be given out as {target.name}", mend=hint)


def write_preview(folder: Path, target: Path) -> None:
    """Write the panorama as a picture (.png, .jpg, .jpeg) of at most 4000 px width.

    Raises:
        SettingsError: another ending.
        RunDamagedError: the panorama is unfinished or damaged.
        StorageError: the disk is full, read-only or failing.
    """
    picture_suffix(target)
    reader = SegmentReader(folder)
    scale = max(1.0, reader.index.width_px / _PREVIEW_WIDTH_PX)
    height = max(round(reader.index.height_px / scale), 1)
    edges = np.linspace(0, reader.index.width_px, min(reader.index.width_px, _PREVIEW_WIDTH_PX) + 1)
    parts = []
    for start in range(0, len(edges) - 1, 500):
        stop = min(start + 500, len(edges) - 1)
        window = reader.window(round(edges[start]), round(edges[stop]))
        parts.append(cv2.resize(window, (stop - start, height), interpolation=cv2.INTER_AREA))
    write_picture(target, np.concatenate(parts, axis=1))


def _write_tiff(reader: SegmentReader, target: Path) -> None:
    """Tiles are written row by row of tiles; each reads its window, so memory stays at a few segments."""
    import tifffile

    width, height = reader.index.width_px, reader.index.height_px
    with atomic_path(target) as temporary, tifffile.TiffWriter(temporary, bigtiff=True) as tiff:
        tiff.write(
            _tiff_tiles(reader), shape=(height, width, 3), dtype=np.uint8, tile=(_TILE_PX, _TILE_PX),
            photometric="rgb", compression="zlib",
        )  # fmt: skip


def _tiff_tiles(reader: SegmentReader) -> Iterator[Image]:
    width, height = reader.index.width_px, reader.index.height_px
    for y in range(0, height, _TILE_PX):
        for x in range(0, width, _TILE_PX):
            tile = np.zeros((_TILE_PX, _TILE_PX, 3), np.uint8)
            window = reader.window(x, min(x + _TILE_PX, width))[y : y + _TILE_PX]
            tile[: window.shape[0], : window.shape[1]] = window
            yield tile


def _write_deep_zoom(reader: SegmentReader, target: Path) -> None:
    """The .dzi is written last: without it the tree is unfinished."""
    width, height = reader.index.width_px, reader.index.height_px
    levels = max(int(np.ceil(np.log2(max(width, height)))), 0)
    tree = _tree_of(target)
    for level in range(levels, -1, -1):
        folder = tree / str(level)
        make_folder(folder)
        shrink = 2 ** (levels - level)
        size_wh = (-(-width // shrink), -(-height // shrink))
        for column, row in np.ndindex(-(-size_wh[0] // _TILE_PX), -(-size_wh[1] // _TILE_PX)):
            tile = (
                _whole_tile(reader, column, row)
                if level == levels
                else _joined_tile(tree / str(level + 1), column, row)
            )
            write_picture(folder / f"{column}_{row}.jpg", tile)
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<Image xmlns="http://schemas.microsoft.com/deepzoom/2008" Format="jpg"'
        f' Overlap="0" TileSize="{_TILE_PX}"><Size Width="{width}" Height="{height}"/></Image>\n'
    )
    write_atomic(target, text.encode())


def _tree_of(target: Path) -> Path:
    """The folder of a deep-zoom tree, as viewers look for it."""
    return target.with_name(f"{target.stem}_files")


def _whole_tile(reader: SegmentReader, column: int, row: int) -> Image:
    x, y = column * _TILE_PX, row * _TILE_PX
    return reader.window(x, min(x + _TILE_PX, reader.index.width_px))[y : y + _TILE_PX]


def _joined_tile(finer: Path, column: int, row: int) -> Image:
    """The four tiles of the next finer level, halved."""
    rows: list[Image] = []
    for y in (2 * row, 2 * row + 1):
        paths = [finer / f"{x}_{y}.jpg" for x in (2 * column, 2 * column + 1)]
        tiles = [np.asarray(cv2.imread(str(path)), np.uint8) for path in paths if path.exists()]
        if tiles:
            rows.append(np.concatenate(tiles, axis=1))
    joined = cv2.cvtColor(np.concatenate(rows, axis=0), cv2.COLOR_BGR2RGB)
    size_wh = (-(-joined.shape[1] // 2), -(-joined.shape[0] // 2))
    return np.asarray(cv2.resize(joined, size_wh, interpolation=cv2.INTER_AREA), np.uint8)
