"""COCO RLE of many masks at once: the work of `encode`, in a few passes of numpy over all masks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from edgekit.contracts import MaskCrop
from edgekit.masks.crop import clip
from edgekit.masks.rle import CocoRle

Counts = npt.NDArray[np.int64]

CHUNK_PX = 1 << 24
"""Pixels that are worked on at once: about 50 MB of memory."""


def encode_many(masks: Sequence[MaskCrop], sizes_wh: Sequence[tuple[int, int]]) -> Iterator[CocoRle]:
    """`encode(mask, size_wh)` of each mask in its picture, in order, several times as fast."""
    start = pixels = 0
    for position, mask in enumerate(masks):
        pixels += mask.plane.size
        if pixels > CHUNK_PX:
            yield from _encode_chunk(masks[start : position + 1], sizes_wh[start : position + 1])
            start, pixels = position + 1, 0
    yield from _encode_chunk(masks[start:], sizes_wh[start:])


def _encode_chunk(masks: Sequence[MaskCrop], sizes_wh: Sequence[tuple[int, int]]) -> Iterator[CocoRle]:
    inside = [_inside(mask, size) for mask, size in zip(masks, sizes_wh, strict=True)]
    owner, bounds = _bounds(inside, np.array([height for _, height in sizes_wh], np.int64))
    totals = np.array([width * height for width, height in sizes_wh], np.int64)
    owner, counts = _run_lengths(owner, bounds, totals)
    text, ends = _compressed(owner, counts, len(inside))
    start = 0
    for (width, height), end in zip(sizes_wh, ends.tolist(), strict=True):
        yield {"size": [height, width], "counts": text[start:end]}
        start = end


def _inside(mask: MaskCrop, size_wh: tuple[int, int]) -> MaskCrop:
    """The mask without what lies outside the picture; itself where nothing does."""
    (rows, columns), (width, height) = mask.plane.shape, size_wh
    if mask.x_px >= 0 and mask.y_px >= 0 and mask.x_px + columns <= width and mask.y_px + rows <= height:
        return mask
    return clip(mask, 0, 0, width, height)


def _bounds(masks: Sequence[MaskCrop], heights: Counts) -> tuple[Counts, Counts]:
    """First pixel of every run and of every gap, counted down the columns of its picture, with the mask it is of."""
    steps = np.array([mask.plane.shape[0] + 1 for mask in masks], np.int64)  # a pixel that is off ends each column
    lengths = steps * np.array([mask.plane.shape[1] for mask in masks], np.int64)
    offsets = np.cumsum(lengths) - lengths
    columns = np.zeros(int(lengths.sum()) + 2, np.bool_)
    pixels = columns[1:]  # the first one has an "off" before it to differ from
    for mask, offset, length, step in zip(masks, offsets.tolist(), lengths.tolist(), steps.tolist(), strict=True):
        pixels[offset : offset + length].reshape(-1, step)[:, :-1] = mask.plane.T
    flips = np.flatnonzero(pixels != columns[:-1])
    owner = np.searchsorted(offsets, flips, side="right") - 1
    column, row = np.divmod(flips - offsets[owner], steps[owner])
    x, y = (np.array([place[axis] for place in masks], np.int64) for axis in (1, 2))
    return owner, (x[owner] + column) * heights[owner] + y[owner] + row


def _run_lengths(owner: Counts, bounds: Counts, totals: Counts) -> tuple[Counts, Counts]:
    # A mask as high as the picture runs on into the next column: COCO wants that as one run.
    joint = np.flatnonzero((bounds[1:] == bounds[:-1]) & (owner[1:] == owner[:-1]))
    kept = np.ones(len(bounds), np.bool_)
    kept[joint] = kept[joint + 1] = False
    # Each mask's counts are the differences of 0, its bounds, and the end of the picture if the last run stops short.
    ends_short = totals > 0
    last = np.full(len(totals), -1, np.int64)
    last[owner[kept]] = bounds[kept]
    ends_short &= last != totals
    position = np.concatenate([owner[kept], np.flatnonzero(ends_short)])
    values = np.concatenate([bounds[kept], totals[ends_short]])
    order = np.argsort(position, kind="stable")
    position, values = position[order], values[order]
    before = np.concatenate([[0], values[:-1]])
    before[np.concatenate([[True], position[1:] != position[:-1]])[: len(before)]] = 0
    return position, values - before


def _compressed(owner: Counts, counts: Counts, masks: int) -> tuple[str, Counts]:
    """COCO's text of all masks in a row, and where each ends (`rleToString` of pycocotools' maskApi.c)."""
    per_mask = np.bincount(owner, minlength=masks)
    within = np.arange(len(counts)) - np.repeat(np.cumsum(per_mask) - per_mask, per_mask)
    rest = counts.copy()
    late = np.flatnonzero(within > 2)
    rest[late] -= counts[late - 2]
    # Five bits a character; the last one's top bit must tell the sign: values in -16 .. 15 take one.
    size = np.where(rest < 0, ~rest, rest)
    length = np.ones(len(rest), np.int64)
    for step in range(1, 13):
        longer = size >= 1 << (5 * step - 1)
        if not longer.any():
            break
        length += longer
    ends = np.cumsum(length)
    text = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    rows, position = np.arange(len(rest)), ends - length
    while len(rows):
        more = length[rows] > 1
        text[position[rows]] = (rest[rows] & 0x1F) + 48 + 0x20 * more
        rows = rows[more]
        rest[rows] >>= 5
        length[rows] -= 1
        position[rows] += 1
    characters = np.concatenate([[0], ends])[np.cumsum(per_mask)]
    return text.tobytes().decode("ascii"), characters
