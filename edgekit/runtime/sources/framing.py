"""How frames go through a pipe: with a header each, or raw pictures of a size that is known."""

from __future__ import annotations

import struct
from typing import BinaryIO, Protocol

import numpy as np

from edgekit.contracts import Image

_HEADER = struct.Struct("<4sII")
_MAGIC = b"EKF1"
_MOST_PX = 1 << 28


class FramingError(Exception):
    """What came through the pipe is no frame. Stays inside the sources."""


class Framing(Protocol):
    """Reads one frame from a pipe."""

    def read(self, pipe: BinaryIO) -> Image | None:
        """The next frame, None where the pipe ended.

        Raises:
            FramingError: what came is no frame.
        """
        ...


def packed(image: Image) -> bytes:
    """A frame with its header."""
    height, width = image.shape[:2]
    return _HEADER.pack(_MAGIC, width, height) + image.tobytes()


class HeaderFraming:
    """Frames as `packed` writes them."""

    def read(self, pipe: BinaryIO) -> Image | None:
        """The next frame, None where the pipe ended."""
        header = pipe.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return None
        magic, width, height = _HEADER.unpack(header)
        if magic != _MAGIC or not 0 < width * height < _MOST_PX:
            raise FramingError("the pipe is out of step")
        data = pipe.read(width * height * 3)
        if len(data) < width * height * 3:
            return None
        return np.frombuffer(data, np.uint8).reshape(height, width, 3)


class RawFraming:
    """Raw RGB pictures of one size, each row padded to four bytes, as GStreamer writes them."""

    def __init__(self, size_wh: tuple[int, int]) -> None:
        self._width, self._height = size_wh
        self._stride = -(-self._width * 3 // 4) * 4

    def read(self, pipe: BinaryIO) -> Image | None:
        """The next frame, None where the pipe ended."""
        data = pipe.read(self._stride * self._height)
        if len(data) < self._stride * self._height:
            return None
        rows = np.frombuffer(data, np.uint8).reshape(self._height, self._stride)
        return np.ascontiguousarray(rows[:, : self._width * 3]).reshape(self._height, self._width, 3)
