"""From placed frames to finished columns: every panorama pixel comes from one frame."""

from __future__ import annotations

import math

import cv2
import numpy as np

from edgekit.contracts import Columns, Image
from edgekit.runtime.mosaic.draw import Placed, draw
from edgekit.runtime.mosaic.exposure import Exposure, exposed
from edgekit.runtime.mosaic.resample import WHOLE_PX
from edgekit.runtime.mosaic.seam import join
from edgekit.runtime.mosaic.settings import MosaicSettings


class StripWriter:
    """Cuts each placed frame against the one before it, half way between their middles.

    A seam wanders within a window about the cut; windows of neighbouring cuts do not overlap, so each is drawn from
    two frames only and is final as soon as it is drawn.

    Args:
        first: the frame at which the panorama starts; its outer edge is column 0.
        direction: +1 where the panorama grows to the right, -1 to the left.
        settings: the seam's window.
    """

    def __init__(self, first: Placed, direction: int, settings: MosaicSettings) -> None:
        self._shift_px = -first.x_px if direction > 0 else -first.x_px - first.image.shape[1]
        self._last = first._replace(x_px=first.x_px + self._shift_px)
        self._direction = direction
        self._seam_px = settings.seam_px
        self._even = settings.even_exposure
        self._exposure = Exposure()
        self._end_px = 0
        self._residual = 0.0
        self._compared = 0

    @property
    def overlap_residual_grey(self) -> float | None:
        """Mean difference of neighbouring frames within the seams' windows, grey levels; None where none met."""
        return self._residual / self._compared if self._compared else None

    def advance_px(self, x_px: float) -> float:
        """How far a frame at x_px lies beyond the last placed one; negative behind it."""
        return self._direction * (x_px + self._shift_px - self._last.x_px)

    def place(self, placed: Placed) -> Columns:
        """Take the next frame, which lies beyond the last one; return the columns that are final now."""
        placed = placed._replace(x_px=placed.x_px + self._shift_px)
        last, self._last = self._last, placed
        start_px, stop_px = self._window(last, placed)
        last_gain, end_px = self._exposure.gain, self._end_px
        gain = self._exposure.follow(last, placed) if self._even else 1.0
        near_px, far_px = (end_px, stop_px) if self._direction > 0 else (start_px, end_px)
        behind = exposed(draw(last, near_px, far_px), last_gain)
        ahead = exposed(draw(placed, start_px, stop_px), gain)
        if self._direction > 0:
            rest, common = np.split(behind, [start_px - end_px], axis=1)
            image = np.concatenate((rest, join(common, ahead)), axis=1)
            self._end_px = stop_px
        else:
            common, rest = np.split(behind, [stop_px - start_px], axis=1)
            image = np.concatenate((join(ahead, common), rest), axis=1)
            self._end_px = start_px
        self._compare(common, ahead)
        return Columns(image, min(end_px, start_px), last.bridged or placed.bridged)

    def finish(self) -> Columns:
        """The rest of the frame that was placed last, out to its far edge."""
        if self._direction > 0:
            far_px = math.floor(self._last.x_px + self._last.image.shape[1] + WHOLE_PX)
        else:
            far_px = math.ceil(self._last.x_px - WHOLE_PX)
        start_px, stop_px = sorted((self._end_px, far_px))
        image = exposed(draw(self._last, start_px, stop_px), self._exposure.gain)
        return Columns(image, start_px, self._last.bridged)

    def _compare(self, one: Image, other: Image) -> None:
        if one.size:
            self._residual += cv2.norm(one, other, cv2.NORM_L1)
            self._compared += one.size

    def _window(self, last: Placed, placed: Placed) -> tuple[int, int]:
        """Columns within which the seam may wander: about the cut, beyond what is final, within half the advance."""
        cut_px = round((last.x_px + placed.x_px + placed.image.shape[1]) / 2)
        room_px = min(self._direction * (cut_px - self._end_px), abs(placed.x_px - last.x_px) / 2)
        half_px = max(0, min(int(room_px), self._seam_px // 2))
        return cut_px - half_px, cut_px + half_px
