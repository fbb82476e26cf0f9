"""Memory for the frames of one camera, made once: what waits at worst is taken at the start, and nothing more later.

A frame of 1280 x 720 is 2.8 MB. Made anew each time, frames that wait while the machine is busy would let the memory of
a run grow by tens of megabytes a camera just when it is short, and the C library would not give all of it back.
"""

from __future__ import annotations

import ctypes
import weakref
from collections import deque
from typing import cast

import numpy as np
import numpy.typing as npt

from edgekit.contracts import Image

Bytes = npt.NDArray[np.uint8]
MOST_BYTES = 256_000_000
"""Kept for one camera at most: 40 frames of 1920 x 1080, but 10 of 3840 x 2160, for a small device has other uses."""


class FramePool:
    """Gives memory for frames; that of a frame is used again once nobody holds it, or any view of it, any more.

    Args:
        frames: so many are kept, within MOST_BYTES. The memory of all is taken with the first one; further ones are
            made when wanted.
    """

    def __init__(self, frames: int) -> None:
        self._frames = frames
        self._bytes = 0
        self._free: deque[Bytes] = deque()

    def take(self, height: int, row_bytes: int) -> Bytes:
        """Rows for a frame, uint8, height x row_bytes, with whatever stands there."""
        if height * row_bytes != self._bytes:
            self._begin(height * row_bytes)
        try:
            memory = self._free.popleft()
        except IndexError:
            return np.empty((height, row_bytes), np.uint8)
        return self._lent(memory).reshape(height, row_bytes)

    def copy(self, image: Image) -> Image:
        """The same picture in the pool's memory."""
        height, width = image.shape[:2]
        kept = self.take(height, 3 * width).reshape(height, width, 3)
        np.copyto(kept, image)
        return kept

    def _begin(self, size: int) -> None:
        """Frames of a new size; memory that is still lent goes when it comes back."""
        self._bytes = size
        kept = min(self._frames, MOST_BYTES // max(size, 1))
        self._free = deque(np.full(size, 0, np.uint8) for _ in range(kept))  # written to, so really there

    def _lent(self, memory: Bytes) -> Bytes:
        """The memory as an array; every view of it holds the loan, and the end of the loan brings the memory back."""
        loan = (ctypes.c_ubyte * len(memory)).from_buffer(cast(bytearray, memory))
        weakref.finalize(loan, self._free.append, memory).atexit = False
        return np.frombuffer(cast(bytearray, loan), np.uint8)
