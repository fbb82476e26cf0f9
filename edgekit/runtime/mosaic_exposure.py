"""Evening out steps of the exposure from strip to strip, by one gain a frame: nothing is blended or invented."""

from __future__ import annotations

import math

import cv2
import numpy as np

from edgekit.contracts import Image

_SAME = 0.03
"""Relative difference of brightness that is left alone: content differs by that much between two views of a place."""
_MOST = 2.0
"""Bound of the gain: more would amplify noise."""
_USABLE = (8, 247)
"""Grey levels that are neither black nor blown out."""
_LEAST_PIXELS = 200
_FADE_WIDTHS = 2.0
"""Frame widths of travel in which a gain fades to a third of its logarithm: a step becomes a slope that no one sees,
and a row does not stay darkened for ever by what happened at its start."""


class Exposure:
    """The gain at which each placed frame is drawn."""

    def __init__(self) -> None:
        self.gain = 1.0
        """Of the frame that was placed last."""

    def follow(self, last: Image, placed: Image, advance_widths: float) -> float:
        """Gain of the next frame, such that it goes on where the last one (drawn at its gain) ended.

        Args:
            last: a place as the last frame shows it, without gain.
            placed: the same place as the next frame shows it.
            advance_widths: how far the camera moved, in frame widths.
        """
        log_gain = math.log(self.gain) * math.exp(-abs(advance_widths) / _FADE_WIDTHS)
        step = brightness_ratio(last, placed)
        if abs(step - 1) > _SAME:
            log_gain += math.log(step)
        bound = math.log(_MOST)
        gain = math.exp(min(max(log_gain, -bound), bound))
        self.gain = 1.0 if abs(gain - 1) < _SAME / 3 else gain
        return self.gain


def brightness_ratio(one: Image, other: Image) -> float:
    """How many times brighter one picture of a place is than the other, by pixels that both show well; 1 if too few."""
    grey, other_grey = (cv2.cvtColor(np.ascontiguousarray(image[::2]), cv2.COLOR_RGB2GRAY) for image in (one, other))
    low, high = _USABLE
    usable = (grey > low) & (grey < high) & (other_grey > low) & (other_grey < high)
    if np.count_nonzero(usable) < _LEAST_PIXELS:
        return 1.0
    return float(grey[usable].mean() / other_grey[usable].mean())


def exposed(image: Image, gain: float) -> Image:
    """The picture at a gain."""
    return image if gain == 1.0 or not image.size else np.asarray(cv2.convertScaleAbs(image, alpha=gain), np.uint8)
