"""Whether a camera repeats itself."""

from __future__ import annotations

import numpy as np

from edgekit.contracts import Image

_EVERY_PX = 37


def same_picture(image: Image, last: Image) -> bool:
    """True where two pictures are the same bit for bit; a few pixels settle it for nearly every frame."""
    few = slice(None, None, _EVERY_PX)
    return np.array_equal(image[few, few], last[few, few]) and np.array_equal(image, last)
