"""How frames go through a pipe: with a header each, or raw pictures of a size that is known.

Pixels are read from the pipe into the array that becomes the frame: no copy is made where rows are not padded.
"""

from __future__ import annotations

import math
import struct
from typing import NamedTuple, Protocol

from edgekit.contracts import Image
from edgekit.runtime.sources.frame_pool import FramePool

_HEADER = struct.Struct("<4sIIId")
_MAGIC = b"EKF2"
_MOST_BYTES = 1 << 30


class FramingError(Exception):
    """What came through the pipe is no frame. Stays inside the sources."""


class Pipe(Protocol):
    """The reading end of a pipe, without a buffer."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill the buffer as far as bytes are there; 0 at the end."""
        ...


class Arrival(NamedTuple):
    """A picture as it came through the pipe."""

    image: Image
    device_time_s: float | None
    """Time stamp that the camera or the stream gave it; None where there is none."""


class Framing(Protocol):
    """Reads one frame from a pipe."""

    def read(self, pipe: Pipe) -> Arrival | None:
        """The next frame, None where the pipe ended.

        Raises:
            FramingError: what came is no frame.
        """
        ...


def header(size_wh: tuple[int, int], stride: int, time_s: float | None = None) -> bytes:
    """What goes before the rows of a frame, each of which takes `stride` bytes, padding included."""
    return _HEADER.pack(_MAGIC, *size_wh, stride, math.nan if time_s is None else time_s)


def packed(image: Image) -> bytes:
    """A frame with its header."""
    height, width = image.shape[:2]
    return header((width, height), 3 * width) + image.tobytes()


class HeaderFraming:
    """Frames with a `header` each, read into the pool's memory."""

    def __init__(self, pool: FramePool) -> None:
        self._rows = _Rows(pool)

    def read(self, pipe: Pipe) -> Arrival | None:
        """The next frame, None where the pipe ended."""
        start = bytearray(_HEADER.size)
        if not _fill(pipe, memoryview(start)):
            return None
        magic, width, height, stride, time_s = _HEADER.unpack(start)
        if magic != _MAGIC or not 0 < 3 * width <= stride or not 0 < stride * height < _MOST_BYTES:
            raise FramingError("the pipe is out of step")
        image = self._rows.read(pipe, (width, height), stride)
        return None if image is None else Arrival(image, None if math.isnan(time_s) else time_s)


class RawFraming:
    """Raw RGB pictures of one size, each row padded to four bytes, as GStreamer writes them; into the pool's memory."""

    def __init__(self, size_wh: tuple[int, int], pool: FramePool) -> None:
        self._rows = _Rows(pool)
        self._size_wh = size_wh
        self._stride = -(-size_wh[0] * 3 // 4) * 4

    def read(self, pipe: Pipe) -> Arrival | None:
        """The next frame, None where the pipe ended."""
        image = self._rows.read(pipe, self._size_wh, self._stride)
        return None if image is None else Arrival(image, None)


class _Rows:
    """Pixels of frames without the padding of their rows."""

    def __init__(self, pool: FramePool) -> None:
        self._pool = pool
        self._padded = FramePool(1)

    def read(self, pipe: Pipe, size_wh: tuple[int, int], stride: int) -> Image | None:
        """The pixels of one frame; None where the pipe ended."""
        width, height = size_wh
        rows = (self._pool if stride == 3 * width else self._padded).take(height, stride)
        if not _fill(pipe, rows.data.cast("B")):
            return None
        if stride == 3 * width:
            return rows.reshape(height, width, 3)
        return self._pool.copy(rows[:, : width * 3].reshape(height, width, 3))


def _fill(pipe: Pipe, buffer: memoryview) -> bool:
    """Fill the buffer; False where the pipe ends before."""
    done = 0
    while done < len(buffer):
        count = pipe.readinto(buffer[done:])
        if not count:
            return False
        done += count
    return True
