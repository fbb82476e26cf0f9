"""Whether a picture file is whole, and its pixels.

OpenCV returns a full-size picture with flat rows for a JPEG that was cut short, so the end is looked for first.
"""

from __future__ import annotations

import re
from pathlib import Path

import cv2
import numpy as np

from edgekit.contracts import Image
from edgekit.runtime.sources.decoder_words import decoder_words

PICTURE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp"})
"""File names that are taken for pictures; the content decides whether they are."""

_OF_PAGES = frozenset({".tif", ".tiff", ".webp"})
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
        BrokenPictureError: the file cannot be read, is no picture, was cut short or damaged, or is too large.
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
        BrokenPictureError: the bytes are no picture, were cut short or damaged, or the picture is too large.
    """
    if not data:
        raise BrokenPictureError("empty file")
    if is_cut_short(data):
        raise BrokenPictureError("cut short")
    with decoder_words() as damage:
        bgr = _decoded(data)
    if bgr is None:
        raise BrokenPictureError("not a picture")
    if damage:
        raise BrokenPictureError("damaged")
    return np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB), np.uint8)


def _decoded(data: bytes) -> Image | None:
    """BGR; None where the bytes are no picture.

    Raises:
        BrokenPictureError: the picture is larger than OpenCV or the memory holds.
    """
    try:
        return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    except (cv2.error, MemoryError) as error:  # OpenCV reads up to 2^30 pixels
        raise BrokenPictureError("too large to be read") from error


def count_pages(path: Path) -> int:
    """Pictures in a file: frames of an animated WebP, pages of a TIFF, else 1. Headers alone are read."""
    if path.suffix.lower() not in _OF_PAGES:
        return 1
    try:
        return max(int(cv2.imcount(str(path))), 1)
    except cv2.error:
        return 1


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
