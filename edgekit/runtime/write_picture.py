"""A picture written as its name says: .png or .jpg."""

from __future__ import annotations

from pathlib import Path

import cv2

from edgekit.atomic import write_atomic
from edgekit.contracts import Image
from edgekit.errors import SettingsError

_OPTIONS = {
    ".png": [],
    ".jpg": [cv2.IMWRITE_JPEG_QUALITY, 90],
    ".jpeg": [cv2.IMWRITE_JPEG_QUALITY, 90],
}  # fmt: skip
"""Ending -> what OpenCV's encoder is told."""


def picture_suffix(path: Path) -> str:
    """The ending of a picture that can be written, in small letters.

    Raises:
        SettingsError: another ending.
    """
    suffix = path.suffix.lower()
    if suffix not in _OPTIONS:
        raise SettingsError(f"a picture cannot be written as {path.name}", mend=f"choose {', '.join(_OPTIONS)}")
    return suffix


def write_picture(path: Path, image: Image) -> None:
    """Write RGB, H x W x 3, uint8, whole or not at all.

    Raises:
        SettingsError: an ending other than .png, .jpg, .jpeg.
        StorageError: the file cannot be written.
    """
    suffix = picture_suffix(path)
    done, data = cv2.imencode(suffix, cv2.cvtColor(image, cv2.COLOR_RGB2BGR), _OPTIONS[suffix])
    if not done:
        raise SettingsError(
            f"{image.shape[1]} x {image.shape[0]} px are too many for {suffix}",
            mend="write a .png, or a smaller picture",
        )
    write_atomic(path, data.tobytes())
