"""COCO run-length encoding straight from and to crops, so that a mask on a long panorama costs what its own size costs.

COCO counts runs down the columns of the whole picture, beginning with a run of zeros (pycocotools, `maskApi.c`).
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import numpy.typing as npt
from pycocotools import mask as coco_mask

from edgekit.contracts import MaskCrop
from edgekit.errors import LabelsError
from edgekit.masks.crop import EMPTY, clip, trim


class CocoRle(TypedDict):
    """COCO's compressed form, ready for JSON: `size` is [height, width], `counts` is text."""

    size: list[int]
    counts: str


def encode(mask: MaskCrop, size_wh: tuple[int, int]) -> CocoRle:
    """RLE of a mask in a picture of `size_wh` pixels; what lies outside the picture is taken off."""
    width, height = size_wh
    compressed = coco_mask.frPyObjects({"size": [height, width], "counts": run_lengths(mask, size_wh)}, height, width)
    return {"size": [height, width], "counts": compressed["counts"].decode("ascii")}


def run_lengths(mask: MaskCrop, size_wh: tuple[int, int]) -> list[int]:
    """Uncompressed COCO counts of a mask in a picture of `size_wh` pixels."""
    width, height = size_wh
    inside = clip(mask, 0, 0, width, height)
    columns = np.zeros((inside.plane.shape[1], inside.plane.shape[0] + 2), np.int8)
    columns[:, 1:-1] = inside.plane.T
    edges = np.diff(columns, axis=1)
    column, first = np.nonzero(edges == 1)
    _, end = np.nonzero(edges == -1)
    origin = (inside.x_px + column).astype(np.int64) * height + inside.y_px
    bounds = np.stack([origin + first, origin + end], axis=1).ravel()
    # A mask as high as the picture runs on into the next column: COCO wants that as one run.
    joints = np.flatnonzero(bounds[1:-1:2] == bounds[2::2]) if len(bounds) > 2 else np.zeros(0, np.intp)
    bounds = np.delete(bounds, np.concatenate([2 * joints + 1, 2 * joints + 2]))
    lengths: list[int] = np.diff(bounds, prepend=0, append=width * height).tolist()
    if len(lengths) > 1 and lengths[-1] == 0:  # pycocotools writes no run after the last pixel
        lengths.pop()
    return lengths


def decode(rle: CocoRle) -> MaskCrop:
    """The mask of a compressed RLE, trimmed.

    Raises:
        LabelsError: counts that are no RLE, or that do not add up to the picture.
    """
    height, width = rle["size"]
    return from_run_lengths(_decompress(rle["counts"]), (width, height))


def from_run_lengths(lengths: npt.ArrayLike, size_wh: tuple[int, int]) -> MaskCrop:
    """The mask of uncompressed COCO counts, trimmed.

    Raises:
        LabelsError: no whole numbers, negative counts, or counts that do not add up to the picture.
    """
    width, height = size_wh
    try:
        counts = np.asarray(lengths, np.int64)
    except (TypeError, ValueError, OverflowError):
        raise LabelsError("run lengths that are no whole numbers") from None
    if counts.ndim != 1 or (counts < 0).any() or counts.sum() != width * height:
        picture = f"a picture of {width} x {height} has {width * height} pixels"
        raise LabelsError(f"run lengths add up to {int(counts.sum())}, {picture}")
    ends = np.cumsum(counts)
    starts, stops = ends[0:-1:2], ends[1::2]
    solid = stops > starts
    starts, stops = starts[solid], stops[solid]
    if not len(starts):
        return EMPTY
    x0, x1 = int(starts[0]) // height, int(stops[-1] - 1) // height + 1
    flat = np.zeros((x1 - x0) * height + 1, np.int8)
    np.add.at(flat, starts - x0 * height, 1)
    np.add.at(flat, stops - x0 * height, -1)
    plane = np.cumsum(flat[:-1], dtype=np.int8).astype(np.bool_).reshape(x1 - x0, height).T
    return trim(MaskCrop(plane, x0, 0))


def _decompress(text: str) -> list[int]:
    """Undo COCO's text form: 6-bit groups with 5 bits of value; from the fourth on, differences to the last but one."""
    counts: list[int] = []
    value = shift = 0
    for character in text.encode("ascii", "replace"):
        group = character - 48
        if not 0 <= group < 64:
            raise LabelsError(f"RLE counts hold the character {chr(character)!r}, which COCO's text form never uses")
        value |= (group & 0x1F) << shift
        shift += 5
        if group & 0x20:
            continue
        if group & 0x10:
            value -= 1 << shift
        counts.append(value + counts[-2] if len(counts) > 2 else value)
        value = shift = 0
    if shift:
        raise LabelsError("RLE counts end in the middle of a number: the text was cut")
    return counts
