"""The picture of a run for people: every row, scaled to a sensible size, with its counted fruit outlined."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
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
LINE_PX = 8192
"""A longer row goes on in the next line, as text does; common viewers show pictures of this width in full."""
_CHUNK_PX = 4096
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
    window: Callable[[int, int], Image]
    """Columns start to stop (not included) of the panorama."""
    fruit: MergedFruit
    """Those that are counted, in panorama pixels."""


class _Piece(NamedTuple):
    """A stretch of a row on one line of the picture, and its place there."""

    row: Row
    start_px: int
    stop_px: int
    x_px: int
    y_px: int
    width_px: int


def annotated(rows: Sequence[Row]) -> Image:
    """All rows on one picture; small ones lie side by side, long ones go on in the next line.

    Rows are read a stretch at a time, so the memory is that of the picture, whatever their length.
    """
    scale = 1 / picture_shrink([row.size_wh for row in rows])
    pieces, size_wh = _lay_out(rows, scale)
    canvas = np.full((size_wh[1], size_wh[0], 3), _PAPER, np.uint8)

    def draw_row(row: Row) -> None:
        for piece in (item for item in pieces if item.row is row):
            drawn = _draw(piece, scale)
            top = piece.y_px + _HEADER_PX
            canvas[top : top + drawn.shape[0], piece.x_px : piece.x_px + drawn.shape[1]] = drawn
            _write_title(canvas, piece)

    with ThreadPoolExecutor(_WORKERS, thread_name_prefix="edgekit-draw") as workers:  # no two rows share a pixel
        list(workers.map(draw_row, rows))
    return canvas


def picture_shrink(sizes_wh: Iterable[tuple[int, int]]) -> int:
    """Whole number by which rows of these sizes are shrunk to fit onto one picture; 1 where they fit as they are."""
    total_px = sum(width * height for width, height in sizes_wh)
    return max(math.ceil(math.sqrt(total_px / LARGEST_PX)), 1)


def encode_png(image: Image) -> bytes:
    """PNG as OpenCV tunes it for speed: 30 ms a megapixel, where its level 1 takes 45 for a tenth less."""
    done, data = cv2.imencode(".png", cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
    if not done:
        raise ValueError(f"OpenCV cannot encode {image.shape[1]} x {image.shape[0]} as PNG")
    return data.tobytes()


def _lay_out(rows: Sequence[Row], scale: float) -> tuple[list[_Piece], tuple[int, int]]:
    """Where each stretch goes, and the size of the picture."""
    pieces: list[_Piece] = []
    x_px = y_px = line_height_px = widest_px = 0
    for row in rows:
        height_px = _HEADER_PX + max(round(row.size_wh[1] * scale), 1) + _GAP_PX
        for start_px, stop_px in _stretches(row.size_wh[0], scale):
            width_px = max(round(stop_px * scale) - round(start_px * scale), 1)
            if x_px and x_px + width_px > LINE_PX:
                x_px, y_px, line_height_px = 0, y_px + line_height_px, 0
            pieces.append(_Piece(row, start_px, stop_px, x_px, y_px, width_px))
            widest_px = max(widest_px, x_px + width_px)
            line_height_px = max(line_height_px, height_px)
            x_px += width_px + _GAP_PX
    return pieces, (max(widest_px, 1), max(y_px + line_height_px, 1))


def _stretches(width_px: int, scale: float) -> Iterator[tuple[int, int]]:
    step_px = max(int(LINE_PX / scale), 1)
    for start_px in range(0, width_px, step_px):
        yield start_px, min(start_px + step_px, width_px)


def _draw(piece: _Piece, scale: float) -> Image:
    height_px = max(round(piece.row.size_wh[1] * scale), 1)
    drawn = np.zeros((height_px, piece.width_px, 3), np.uint8)
    offset_px = round(piece.start_px * scale)
    for start_px in range(piece.start_px, piece.stop_px, _CHUNK_PX):
        stop_px = min(start_px + _CHUNK_PX, piece.stop_px)
        left, right = round(start_px * scale) - offset_px, round(stop_px * scale) - offset_px
        if right > left:
            chunk = piece.row.window(start_px, stop_px)
            drawn[:, left:right] = cv2.resize(chunk, (right - left, height_px), interpolation=cv2.INTER_AREA)
    _outline(drawn, piece, scale)
    return drawn


def _outline(drawn: Image, piece: _Piece, scale: float) -> None:
    found = piece.row.fruit.instances
    inside = np.flatnonzero((found.boxes_xyxy[:, 2] > piece.start_px) & (found.boxes_xyxy[:, 0] < piece.stop_px))
    thickness = 2 if scale > 0.3 else 1
    for index in inside.tolist():
        colour = _OUTLINES[int(found.labels[index]) % len(_OUTLINES)]
        lines = [_scaled(line, piece.start_px, scale) for line in _contours(found.masks[index])]
        cv2.polylines(drawn, lines, isClosed=True, color=colour, thickness=thickness, lineType=cv2.LINE_AA)


def _contours(mask: MaskCrop) -> list[Points]:
    """Outer contours in panorama pixels, each K x 2."""
    if not mask.plane.size:
        return []
    found, _ = cv2.findContours(mask.plane.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    corner = np.array([mask.x_px, mask.y_px])
    return [np.asarray(line.reshape(-1, 2) + corner, np.float64) for line in found]


def _scaled(line: Points, start_px: int, scale: float) -> npt.NDArray[np.int32]:
    moved = (line + np.array([0.5 - start_px, 0.5])) * scale - 0.5
    return np.asarray(np.rint(moved), np.int32).reshape(-1, 1, 2)


def _write_title(canvas: Image, piece: _Piece) -> None:
    title = piece.row.title if piece.start_px == 0 else f"{piece.row.title}, from x = {piece.start_px} px"
    header = canvas[piece.y_px : piece.y_px + _HEADER_PX, piece.x_px : piece.x_px + piece.width_px]
    patch = np.full(header.shape, _PAPER, np.uint8)
    cv2.putText(patch, title, (2, _HEADER_PX - 8), cv2.FONT_HERSHEY_SIMPLEX, 0.5, _INK, 1, cv2.LINE_AA)
    header[:] = patch
