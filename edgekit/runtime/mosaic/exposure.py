"""Evening out steps of the exposure from strip to strip, by one gain a frame: nothing is blended or invented."""

from __future__ import annotations

import math

import cv2
import numpy as np
import numpy.typing as npt

from edgekit.contracts import Image
from edgekit.runtime.mosaic.draw import Placed

_STEP = 0.08
"""Relative change of brightness between two frames that is a step of the exposure. Below it the content may have
changed: on a strawberry row, whose background moves more slowly than the plants, two views of one place differ by up to
6 %."""
_NEARLY_ONE = 0.01
"""A gain this close to 1 is none."""
_MOST = 2.0
"""Bound of the gain: more would amplify noise."""
_USABLE = (9, 246)
"""First and last grey level that is neither black nor blown out."""
_EVERY_PX = 8
"""One column of so many is looked at, and half as many rows."""
_LEAST_PIXELS = 50
_FADE_WIDTHS = 0.5
"""Frame widths of travel in which a gain fades to a third of its logarithm: a step becomes a slope that no one sees,
and a row does not stay darkened for ever by what happened at its start."""


class Exposure:
    """The gain at which each placed frame is drawn."""

    def __init__(self) -> None:
        self.gain = 1.0
        """Of the frame that was placed last."""

    def follow(self, last: Placed, placed: Placed) -> float:
        """Gain of the next frame, such that it goes on where the last one (drawn at its gain) ended."""
        advance_px = placed.x_px - last.x_px
        log_gain = math.log(self.gain) * math.exp(-abs(advance_px) / (_FADE_WIDTHS * placed.image.shape[1]))
        step = brightness_ratio(last.image, placed.image, round(advance_px))
        if abs(step - 1) > _STEP:
            log_gain += math.log(step)
        bound = math.log(_MOST)
        gain = math.exp(min(max(log_gain, -bound), bound))
        self.gain = 1.0 if abs(gain - 1) < _NEARLY_ONE else gain
        return self.gain


def brightness_ratio(one: Image, other: Image, advance_px: int) -> float:
    """How many times brighter one frame is than the other, by what both show well; 1 where that is too little.

    Args:
        one: a frame.
        other: a frame of the same size that lies `advance_px` further to the right.
        advance_px: below 0 to the left.
    """
    overlap_px = one.shape[1] - abs(advance_px)
    if overlap_px < _EVERY_PX:
        return 1.0
    near, far = max(advance_px, 0), max(-advance_px, 0)
    grey, other_grey = _sampled(one[:, near : near + overlap_px]), _sampled(other[:, far : far + overlap_px])
    usable = cv2.bitwise_and(cv2.inRange(grey, *_USABLE), cv2.inRange(other_grey, *_USABLE))
    if cv2.countNonZero(usable) < _LEAST_PIXELS:
        return 1.0
    return float(cv2.mean(grey, usable)[0] / cv2.mean(other_grey, usable)[0])


def _sampled(image: Image) -> npt.NDArray[np.uint8]:
    """Grey levels of some pixels."""
    return np.asarray(cv2.cvtColor(image[:: 2 * _EVERY_PX, ::_EVERY_PX].copy(), cv2.COLOR_RGB2GRAY), np.uint8)


def exposed(image: Image, gain: float) -> Image:
    """The picture at a gain."""
    return image if gain == 1.0 or not image.size else np.asarray(cv2.convertScaleAbs(image, alpha=gain), np.uint8)
