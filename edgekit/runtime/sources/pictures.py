"""Whether a picture file is whole, and its pixels.

OpenCV returns a full-size picture with flat rows for a JPEG that was cut short, so the end is looked for first.
"""

from __future__ import annotations

import re
from pathlib import Path

import cv2
import numpy as np

from edgekit.contracts import Image

PICTURE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp"})
"""File names that are taken for pictures; the content decides whether they are."""

_JPEG_START = b"\xff\xd8"
_PNG_START = b"\x89PNG\r\n\x1a\n"
_START_OF_SCAN, _END_OF_IMAGE = 0xDA, 0xD9
_NEXT_MARKER = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")
"""In coded data 0xff is followed by 0 or by a restart marker; anything else ends the scan."""


class BrokenPictureError(Exception):
    """A picture that cannot be used; the text says why. Stays inside the sources."""


def read_picture(path: Path) -> Image:
    """Pixels of a picture file, uint8, H x W x 3, RGB, turned upright as its EXIF orientation says.

    Raises:
        BrokenPictureError: the file cannot be read, is no picture, or was cut short.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BrokenPictureError(error.strerror or str(error)) from error
    return decode_picture(data)


def is_picture(path: Path) -> bool:
    """True where the first bytes are those of a kind of picture that can be read."""
    return bool(cv2.haveImageReader(str(path)))


def decode_picture(data: bytes) -> Image:
    """As `read_picture`, from the bytes of the file.

    Raises:
        BrokenPictureError: the bytes are no picture, or were cut short.
    """
    if not data:
        raise BrokenPictureError("empty file")
    if is_cut_short(data):
        raise BrokenPictureError("cut short")
    bgr = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    if bgr is None:
        raise BrokenPictureError("not a picture")
    return np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB), np.uint8)


def is_cut_short(data: bytes) -> bool:
    """True where the bytes of a JPEG or PNG end before the picture does; other kinds are left to the decoder."""
    if data.startswith(_JPEG_START):
        return not _jpeg_ends(data)
    if data.startswith(_PNG_START):
        return b"IEND" not in data[-64:]
    return False


def _jpeg_ends(data: bytes) -> bool:
    """Walk the markers: segments are skipped by their length, scans by looking for the marker that ends them.

    Looking at the last two bytes would not do: cameras append trailers, and a thumbnail has an end marker too.
    """
    position = 2
    while match := _NEXT_MARKER.search(data, position):
        marker = data[match.start() + 1]
        if marker == _END_OF_IMAGE:
            return True
        length = int.from_bytes(data[match.start() + 2 : match.start() + 4], "big")
        position = match.start() + 2 + length
    return False
