"""Frames from a folder of pictures, in natural order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from edgekit.contracts import Frame
from edgekit.errors import SourceError
from edgekit.runtime.sources.faults import FaultLog
from edgekit.runtime.sources.pictures import PICTURE_SUFFIXES, BrokenPictureError, count_pages, read_picture

RATE_HZ = 30.0
"""Frames a second of pictures of which nothing else is said."""
_AGREEING, _ASKED = 2, 9
"""Pictures of one size that settle it, and how many are asked where the first ones differ."""
_DIGITS = re.compile(r"(\d+)")


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key by which `frame_9` comes before `frame_10`."""
    parts = _DIGITS.split(name.casefold())
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts if part)


def picture_paths(folder: Path) -> list[Path]:
    """The files of a folder with the name of a picture, in natural order; hidden ones are left out.

    Raises:
        SourceError: there is none, or no such folder.
    """
    if not folder.is_dir():
        raise SourceError(f"{folder} is no folder", mend="give a folder with pictures")
    names = (path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    pictures = (path for path in names if path.suffix.lower() in PICTURE_SUFFIXES)
    paths = sorted(pictures, key=lambda path: (natural_key(path.name), path.name))
    if not paths:
        kinds = " ".join(sorted(PICTURE_SUFFIXES))
        raise SourceError(f"no pictures in {folder}", mend=f"give a folder with pictures ({kinds}) or a video")
    return paths


class FolderSource:
    """Pictures of a folder as frames. EXIF orientation is applied, as viewers show the picture.

    A picture that is broken, or of another size than most of the first ones, is left out, leaves a gap in the numbers,
    and is told in `faults`. Of a file with several pictures the first is used, and that is told. Times are nominal:
    sequence number over `rate_hz`.
    """

    def __init__(self, folder: Path, *, rate_hz: float = RATE_HZ) -> None:
        """Look at the folder; no picture is decoded yet.

        Raises:
            SourceError: the folder holds no file with the name of a picture.
        """
        self._folder = folder
        self._rate_hz = rate_hz
        self._log = FaultLog()
        self._paths = picture_paths(folder)

    @property
    def name(self) -> str:
        """The folder."""
        return str(self._folder)

    @property
    def length(self) -> int | None:
        """Number of picture files."""
        return len(self._paths)

    @property
    def faults(self) -> tuple[str, ...]:
        """Pictures that were left out so far, a line a kind."""
        return self._log.lines()

    def __iter__(self) -> Iterator[Frame]:
        """Frames in natural order of the file names.

        Raises:
            SourceError: not one picture of the folder can be decoded.
        """
        self._log = FaultLog()
        shape = self._usual_shape()
        for sequence, path in enumerate(self._paths):
            try:
                image = read_picture(path)
            except BrokenPictureError as error:
                self._log.note(str(error), path.name)
                continue
            if image.shape != shape:
                self._log.note(f"of another size than {shape[1]} x {shape[0]}", path.name)
                continue
            if count_pages(path) > 1:
                self._log.note_used("with several pictures, of which the first alone is used", path.name)
            yield Frame(image, sequence, sequence / self._rate_hz)

    def close(self) -> None:
        """Nothing is held open."""

    def _usual_shape(self) -> tuple[int, ...]:
        """Height, width and channels of the first pictures; where they differ, of most of them.

        Raises:
            SourceError: none can be decoded.
        """
        shapes: list[tuple[int, ...]] = []
        broken = FaultLog()
        for path in self._paths:
            try:
                shapes.append(read_picture(path).shape)
            except BrokenPictureError as error:
                broken.note(str(error), path.name)
            if (len(shapes) == _AGREEING and len(set(shapes)) == 1) or len(shapes) == _ASKED:
                break
        if not shapes:
            reasons = "; ".join(broken.lines())
            raise SourceError(f"none of the {len(self._paths)} pictures in {self._folder} can be read ({reasons})")
        return Counter(shapes).most_common(1)[0][0]
