"""A row as it was named on the command line: frames, or a panorama that is finished already."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from edgekit.contracts import Columns, Image
from edgekit.errors import SourceError
from edgekit.runtime.panorama.segments import INDEX_NAME, SegmentReader
from edgekit.runtime.sources import open_source
from edgekit.runtime.sources.folder import natural_key
from edgekit.runtime.sources.pictures import PICTURE_SUFFIXES, BrokenPictureError, count_pages, is_picture, read_picture
from edgekit.runtime.sources.stretch import parse_stretch
from edgekit.store import SourcePlan

_FRAMES_LEAST = 4
_PANORAMA_ASPECT = 3.0
"""A row is longer than it is high; frames of cameras are at most 2.4 times as wide as high."""


def plan_sources(paths: Sequence[Path], *, panorama: bool) -> tuple[SourcePlan, ...]:
    """Look at every source before anything is written; with `panorama`, a folder of pictures stands for its pictures.

    Raises:
        SourceError: one is missing, empty, or of another kind, or is named twice.
    """
    rows = [row for path in paths for row in (_panoramas(path) if panorama else [path])]
    twice = [path for number, path in enumerate(rows) if path in rows[:number]]
    if twice:
        raise SourceError(f"{twice[0]} is named twice", mend="name each row once: it would be counted twice")
    return tuple(plan_source(path, panorama=panorama) for path in rows)


def plan_source(path: Path, *, panorama: bool) -> SourcePlan:
    """Look at a source before anything is written: is it there, and what is it.

    Args:
        path: a video or a folder of frames; with `panorama` a picture, or a folder with the segments of a panorama.
        panorama: it is a finished panorama.

    Raises:
        SourceError: it is missing, empty, or of another kind.
    """
    if not panorama:
        open_source(path).close()
        return SourcePlan(str(path), "frames", fingerprint(path))
    _check_panorama(path)
    return SourcePlan(str(path), "panorama", fingerprint(path))


def panorama_doubts(paths: Sequence[Path]) -> list[str]:
    """Folders whose pictures look like frames of one row and not like finished panoramas, and files of several
    pictures, in words."""
    doubts = []
    for path in paths:
        pictures = _panoramas(path)
        several = [picture.name for picture in pictures if count_pages(picture) > 1]
        if several:
            doubts.append(f"{', '.join(several)}: several pictures in a file, of which the first alone is counted")
        if path.is_dir() and len(pictures) >= _FRAMES_LEAST and _look_like_frames(pictures[:2]):
            doubts.append(
                f"the {len(pictures)} pictures in {path} look like frames of one row; with --panorama each is a row of"
                " its own: leave out --panorama if they are frames"
            )
    return doubts


def _look_like_frames(pictures: Sequence[Path]) -> bool:
    """Pictures of one size that is no panorama's."""
    try:
        shapes = {read_picture(path).shape for path in pictures}
    except BrokenPictureError:
        return False
    height, width = next(iter(shapes))[:2]
    return len(shapes) == 1 and width < _PANORAMA_ASPECT * height


def fingerprint(path: Path) -> str:
    """SHA-256 of the names, sizes and times of change of the files of a source."""
    stretch = parse_stretch(path)
    path = path if stretch is None else stretch.file
    files = sorted(item for item in path.iterdir() if item.is_file()) if path.is_dir() else [path]
    digest = hashlib.sha256()
    for item in files:
        state = item.stat()
        digest.update(f"{item.name}\0{state.st_size}\0{state.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def panorama_columns(path: Path) -> Iterator[Columns]:
    """The columns of a finished panorama, left to right: a picture at once, segments one after the other.

    Raises:
        SourceError: the picture is cut short or no picture.
        RunDamagedError: a segment is missing or damaged.
    """
    if not path.is_dir():
        yield Columns(_read_whole(path), 0)
        return
    reader = SegmentReader(path)
    for start_px in range(0, reader.index.width_px, reader.index.segment_px):
        stop_px = min(start_px + reader.index.segment_px, reader.index.width_px)
        yield Columns(reader.window(start_px, stop_px), start_px)


def _panoramas(path: Path) -> list[Path]:
    if not path.is_dir() or (path / INDEX_NAME).exists():
        return [path]
    pictures = [item for item in path.iterdir() if item.suffix.lower() in PICTURE_SUFFIXES and item.name[0] != "."]
    if not pictures:
        raise SourceError(f"{path} holds no pictures and no {INDEX_NAME}", mend="name the picture of a panorama")
    return sorted(pictures, key=lambda item: natural_key(item.name))


def _check_panorama(path: Path) -> None:
    if not path.exists():
        raise SourceError(f"{path} does not exist", mend="give the picture of a panorama")
    if path.is_dir() and not (path / INDEX_NAME).exists():
        raise SourceError(
            f"{path} holds no panorama ({INDEX_NAME} is missing)", mend="give a picture, or leave out --panorama"
        )
    if not path.is_dir() and not path.is_file():
        raise SourceError(f"{path} is a pipe or a device", mend="give the picture of a panorama")
    if path.is_file() and path.stat().st_size == 0:
        raise SourceError(f"{path} is empty", mend="give the picture of a panorama")
    if path.is_file() and not is_picture(path):
        hint = "leave out --panorama if it is a video; else give a JPEG, PNG, TIFF, WebP or BMP"
        raise SourceError(f"{path} is no picture, so no finished panorama", mend=hint)


def _read_whole(path: Path) -> Image:
    try:
        return read_picture(path)
    except BrokenPictureError as error:
        raise SourceError(f"cannot read {path}: {error}", mend="give a whole JPEG, PNG, TIFF, WebP or BMP") from error
