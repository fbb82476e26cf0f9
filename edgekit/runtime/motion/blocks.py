"""The fine displacement: blocks of the band, each matched by itself, so that depth shows as a spread."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from edgekit.contracts import FloatArray
from edgekit.runtime.motion.coarse import CoarseShift
from edgekit.runtime.motion.planes import Planes

Grey = npt.NDArray[np.uint8]

_BLOCK_WH = (16, 12)
"""Coarse pixels: 64 x 48 px of a 1280 px frame, about a berry."""
_TEXTURE = 0.1
"""Mean square of a block (in units of local contrast) below which it shows nothing."""
_ALIKE = 0.5
"""Normalised correlation from which on two blocks are taken for the same thing."""
_SPREAD = 0.5
"""Blocks are looked for within this share of the coarse displacement about it: the depth of a canopy."""
_LEAST_SPREAD, _MOST_SPREAD = 3, 10
_MOST_BLOCKS = 64
"""Blocks that are matched finely: more cost time and no longer move the result."""
_NEAR = 0.15
"""Blocks count by their distance from the middle (`DisplacementSettings.focus`); those that hardly do are not used."""
_WINDOW = (21, 21)
_ASTRAY = 12
"""Pixels from the guess beyond which a point has run away."""
_SAME_EXPOSURE = 0.05
"""Relative difference of contrast and mean that is left alone: the content differs by that much."""
_ENOUGH = cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS
_ROUGH_STEPS, _LAST_STEPS = (_ENOUGH, 8, 0.03), (_ENOUGH, 20, 0.002)
"""(what ends the search, steps, pixels): the fine planes give a guess, the sharp ones the result."""


@dataclass(frozen=True, eq=False)
class BlockMatches:
    """N blocks that were found again."""

    x: FloatArray
    """Their middle half way between the frames, frame pixels."""
    dx: FloatArray
    """Frame pixels."""
    dy: FloatArray
    textured: int
    """Blocks of the overlap that show something."""
    found: int
    """Those that were found again, of which at most 64 were matched finely."""


def match_blocks(before: Planes, after: Planes, coarse: CoarseShift, factors: tuple[int, int]) -> BlockMatches:
    """Find the blocks of one frame in the other, about a coarse displacement.

    Args:
        before: the earlier frame.
        after: the later frame.
        coarse: where to look.
        factors: frame pixels a fine pixel, and a sharp pixel.
    """
    factor, sharp_factor = factors
    height, width = before.coarse.shape
    if height < _BLOCK_WH[1] or width < 2 * _BLOCK_WH[0]:
        nothing = np.zeros(0, np.float32)
        return BlockMatches(nothing, nothing, nothing, textured=0, found=0)
    shifts = _shifts(coarse.dx, before.coarse.shape[1])
    alike, energy, inside = _likeness(before.coarse, after.coarse, shifts, 2 * coarse.dy)
    best = alike.argmax(axis=0)
    likeness = np.take_along_axis(alike, best[None], axis=0)[0]
    shift = shifts[best]
    seen = (energy > _TEXTURE) & np.take_along_axis(inside, best[None], axis=0)[0]
    rows, columns = np.nonzero(seen & (likeness > _ALIKE))
    counts = (int(seen.sum()), len(rows))
    order = _best(likeness[rows, columns], (columns + 0.5) / alike.shape[2] - 0.5)
    rows, columns = rows[order], columns[order]
    centre = np.column_stack(((columns + 0.5) * _BLOCK_WH[0], (rows + 0.5) * _BLOCK_WH[1])) * 2
    guess = np.column_stack((shift[rows, columns], np.full(len(rows), 2 * coarse.dy))) * 2
    moved, found = _track(before.fine, after.fine, (centre, guess), steps=_ROUGH_STEPS)
    ratio = factor / sharp_factor
    start, guess = centre[found] * ratio, moved[found] * ratio
    moved, found = _track(before.sharp, _exposed_as(before, after), (start, guess), steps=_LAST_STEPS)
    start, moved = start[found] * sharp_factor, moved[found] * sharp_factor
    middle = start[:, 0] + moved[:, 0] / 2
    dx, dy = moved[:, 0].astype(np.float32), moved[:, 1].astype(np.float32)
    return BlockMatches(middle.astype(np.float32), dx, dy, *counts)


def _best(likeness: FloatArray, off: FloatArray) -> npt.NDArray[np.intp]:
    """The blocks that are matched finely: those that are surest, and rather those near the frame's middle.

    Args:
        likeness: of the blocks.
        off: how far they lie from the frame's middle, as a share of its width.
    """
    worth = likeness * np.exp(-0.25 * (off / _NEAR) ** 2)
    return np.argsort(-worth, kind="stable")[:_MOST_BLOCKS]


def _shifts(dx: float, width: int) -> npt.NDArray[np.intp]:
    spread = int(np.clip(_SPREAD * abs(dx), _LEAST_SPREAD, _MOST_SPREAD))
    shifts = np.arange(round(dx) - spread, round(dx) + spread + 1)
    return shifts[np.abs(shifts) < width - _BLOCK_WH[0]]


def _likeness(
    before: FloatArray, after: FloatArray, shifts: npt.NDArray[np.intp], lift: int
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """Correlation of each block at each shift, energy of the blocks, and whether the shifted block is in view."""
    across, down = before.shape[1] // _BLOCK_WH[0], before.shape[0] // _BLOCK_WH[1]
    width, height = across * _BLOCK_WH[0], down * _BLOCK_WH[1]
    margin = int(np.abs(shifts).max())
    part = before[:height, :width]
    energy = _block_mean(cv2.multiply(part, part), (across, down))
    wide = cv2.copyMakeBorder(after, abs(lift), abs(lift), margin, margin, cv2.BORDER_CONSTANT, value=0.0)
    wide = wide[abs(lift) + lift : abs(lift) + lift + height]
    left = np.arange(across)[None, :] * _BLOCK_WH[0] + shifts[:, None]
    alike = np.empty((len(shifts), down, across), np.float32)
    for number, shift in enumerate(shifts.tolist()):
        shifted = wide[:, margin + shift : margin + shift + width]
        alike[number] = _block_mean(cv2.multiply(part, shifted), (across, down))
    alike /= np.sqrt(energy * _energies(wide, left + margin) + 1e-6)
    inside = (left >= 0) & (left + _BLOCK_WH[0] <= after.shape[1])
    return alike, energy, np.broadcast_to(inside[:, None, :], alike.shape)


def _energies(plane: FloatArray, left: npt.NDArray[np.intp]) -> FloatArray:
    """Mean square of the blocks that begin in the columns `left` (shifts x across): shifts x down x across."""
    rows = cv2.resize(
        cv2.multiply(plane, plane), (plane.shape[1], len(plane) // _BLOCK_WH[1]), interpolation=cv2.INTER_AREA
    )
    total = np.concatenate((np.zeros((len(rows), 1)), np.cumsum(rows, axis=1, dtype=np.float64)), axis=1)
    mean = (total[:, left + _BLOCK_WH[0]] - total[:, left]) / _BLOCK_WH[0]
    return np.asarray(np.maximum(mean, 0.0).transpose(1, 0, 2), np.float32)


def _block_mean(plane: FloatArray, blocks: tuple[int, int]) -> FloatArray:
    return np.asarray(cv2.resize(plane, blocks, interpolation=cv2.INTER_AREA), np.float32)


def _track(
    before: Grey,
    after: Grey,
    points_and_guess: tuple[npt.NDArray[np.floating], npt.NDArray[np.floating]],
    *,
    steps: tuple[int, int, float],
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Displacements of points by Lucas and Kanade's method from a guess, and which were found near it."""
    centre, guess = points_and_guess
    if not len(centre):
        return np.zeros((0, 2), np.float32), np.zeros(0, bool)
    points = np.ascontiguousarray(centre[:, None], np.float32)
    ends = np.ascontiguousarray((centre + guess)[:, None], np.float32)
    flags = cv2.OPTFLOW_USE_INITIAL_FLOW
    ends, status, _ = cv2.calcOpticalFlowPyrLK(
        before, after, points, ends, winSize=_WINDOW, maxLevel=0, criteria=steps, flags=flags
    )
    moved = (ends - points)[:, 0]
    near = np.abs(moved - guess).max(axis=1) < _ASTRAY
    return moved, (status[:, 0] > 0) & near


def _exposed_as(before: Planes, after: Planes) -> Grey:
    """The later frame's sharp plane with the mean and contrast of the earlier one, where they differ."""
    (mean, spread), (own_mean, own_spread) = before.exposure, after.exposure
    gain = spread / max(own_spread, 1.0)
    if abs(gain - 1) < _SAME_EXPOSURE and abs(mean - own_mean) < _SAME_EXPOSURE * mean:
        return after.sharp
    table = np.clip(np.rint(gain * np.arange(256) + mean - gain * own_mean), 0, 255).astype(np.uint8)
    return np.asarray(cv2.LUT(after.sharp, table), np.uint8)
