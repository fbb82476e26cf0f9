"""The picture of a run for people: every row, scaled to a sensible size, with its counted fruit outlined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from edgekit.contracts import Image, MaskCrop
from edgekit.store import MergedFruit

LARGEST_PX = 6_000_000
"""Pixels of all rows together: opens everywhere, and takes a fifth of a second to write as PNG."""
LINE_PX = 4000
"""A longer row goes on in the next line, as text does: a screen shows this width without shrinking it to a thread."""
_WORKERS = 2
_HEADER_PX = 26
_GAP_PX = 10
_PAPER = (24, 24, 24)
_INK = (235, 235, 235)
_OUTLINES = ((255, 230, 0), (0, 255, 255), (255, 90, 255), (120, 255, 90), (255, 140, 60), (130, 170, 255))
"""A colour a class, repeated where there are more: none of them is found on fruit or leaves."""

Points = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Row:
    """One row as the picture needs it."""

    title: str
    size_wh: tuple[int, int]
    overview: Callable[[int], Image]
    """The panorama, shrunk by 1, 2, 4 or 8."""
    fruit: MergedFruit
    """Those that are counted, in panorama pixels."""


class _Piece(NamedTuple):
    """A stretch of a row on one line of the picture, and its place there, in pixels of the picture."""

    row: Row
    start_px: int
    width_px: int
    x_px: int
    y_px: int


def annotated(rows: Sequence[Row]) -> Image:
    """All rows on one picture; small ones lie side by side, long ones go on in the next line.

    Rows are read at the size in which they are shown, so the memory is that of the picture, whatever their length.
    """
    shrink = picture_shrink([row.size_wh for row in rows])
    pieces, size_wh = _lay_out(rows, shrink)
    canvas = np.full((size_wh[1], size_wh[0], 3), _PAPER, np.uint8)

    def draw_row(row: Row) -> None:
        drawn = _outlined(row, shrink)
        for piece in (item for item in pieces if item.row is row):
            part = drawn[:, piece.start_px : piece.start_px + piece.width_px]
            top = piece.y_px + _HEADER_PX
            canvas[top : top + part.shape[0], piece.x_px : piece.x_px + piece.width_px] = part
            _write_title(canvas, piece, shrink)

    with ThreadPoolExecutor(_WORKERS, thread_name_prefix="edgekit-draw") as workers:  # no two rows share a pixel
        list(workers.map(draw_row, rows))
    return canvas


def picture_shrink(sizes_wh: Iterable[tuple[int, int]]) -> int:
    """Power of two by which rows of these sizes are shrunk to fit onto one picture, at most 8."""
    total_px = sum(width * height for width, height in sizes_wh)
    return next((shrink for shrink in (1, 2, 4) if total_px <= LARGEST_PX * shrink**2), 8)


def encode_png(image: Image) -> bytes:
    """PNG as OpenCV tunes it for speed: 30 ms a megapixel, where its level 1 takes 45 for a tenth less."""
    done, data = cv2.imencode(".png", cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
    if not done:
        raise ValueError(f"OpenCV cannot encode {image.shape[1]} x {image.shape[0]} as PNG")
    return data.tobytes()


def _lay_out(rows: Sequence[Row], shrink: int) -> tuple[list[_Piece], tuple[int, int]]:
    """Where each stretch goes, and the size of the picture."""
    pieces: list[_Piece] = []
    x_px = y_px = line_height_px = widest_px = 0
    for row in rows:
        row_width_px, row_height_px = (max(length // shrink, 1) for length in row.size_wh)
        for start_px in range(0, row_width_px, LINE_PX):
            width_px = min(LINE_PX, row_width_px - start_px)
            if x_px and x_px + width_px > LINE_PX:
                x_px, y_px, line_height_px = 0, y_px + line_height_px, 0
            pieces.append(_Piece(row, start_px, width_px, x_px, y_px))
            widest_px = max(widest_px, x_px + width_px)
            line_height_px = max(line_height_px, _HEADER_PX + row_height_px + _GAP_PX)
            x_px += width_px + _GAP_PX
    return pieces, (max(widest_px, 1), max(y_px + line_height_px, 1))


def _outlined(row: Row, shrink: int) -> Image:
    drawn = row.overview(shrink)
    thickness = 2 if shrink < 4 else 1
    found = row.fruit.instances
    for mask, label in zip(found.masks, found.labels.tolist(), strict=True):
        lines = [_shrunk(line, shrink) for line in _contours(mask)]
        colour = _OUTLINES[label % len(_OUTLINES)]
        cv2.polylines(drawn, lines, isClosed=True, color=colour, thickness=thickness, lineType=cv2.LINE_AA)
    return drawn


def _contours(mask: MaskCrop) -> list[Points]:
    """Outer contours in panorama pixels, each K x 2."""
    if not mask.plane.size:
        return []
    found, _ = cv2.findContours(mask.plane.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    corner = np.array([mask.x_px, mask.y_px])
    return [np.asarray(line.reshape(-1, 2) + corner, np.float64) for line in found]


def _shrunk(line: Points, shrink: int) -> npt.NDArray[np.int32]:
    return np.asarray(np.rint((line + 0.5) / shrink - 0.5), np.int32).reshape(-1, 1, 2)


def _write_title(canvas: Image, piece: _Piece, shrink: int) -> None:
    title = piece.row.title
    if shrink > 1:
        title += f", at 1/{shrink} of its size"
    if piece.start_px:
        title += f", from x = {piece.start_px * shrink} px"
    header = canvas[piece.y_px : piece.y_px + _HEADER_PX, piece.x_px : piece.x_px + piece.width_px]
    patch = np.full(header.shape, _PAPER, np.uint8)
    cv2.putText(patch, title, (2, _HEADER_PX - 8), cv2.FONT_HERSHEY_SIMPLEX, 0.5, _INK, 1, cv2.LINE_AA)
    header[:] = patch
