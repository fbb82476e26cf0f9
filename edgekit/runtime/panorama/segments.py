"""The panorama on disk: segments of fixed width, written whole or not at all.

Segment k holds the columns number k * width to (k + 1) * width in the order in which they were finished, the right way
round. A panorama that grew to the right is read as segment 0, 1, 2, ..., one that grew to the left as ..., 2, 1, 0. The
index is written last: a folder without it holds an unfinished panorama.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType

import cv2
import numpy as np

from edgekit.atomic import make_folder, write_atomic
from edgekit.contracts import Columns, Image
from edgekit.errors import RunDamagedError, SettingsError
from edgekit.settings_file import settings_from
from edgekit.wording import counted

INDEX_NAME = "segments.json"
WIDEST_SEGMENT_PX = 65_500
"""JPEG ends there; longer panoramas are several segments."""
_ENCODING: dict[str, list[int]] = {
    "png": [cv2.IMWRITE_PNG_COMPRESSION, 1],
    "jpg": [
        *(cv2.IMWRITE_JPEG_QUALITY, 95),
        *(cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444),
    ],
}
"""JPEG keeps colour at full resolution: counts from it differ less from those of the exact columns than with colour at
half resolution, for a fifth more bytes (python bench/run/segment_counts.py PANORAMA.png)."""
_SEGMENT_NAME = re.compile(r"segment_\d{5,}\.(png|jpg)")
_REDUCED = MappingProxyType(
    {1: cv2.IMREAD_COLOR, 2: cv2.IMREAD_REDUCED_COLOR_2, 4: cv2.IMREAD_REDUCED_COLOR_4, 8: cv2.IMREAD_REDUCED_COLOR_8}
)
_SEGMENTS_HELD = 3


@dataclass(frozen=True)
class SegmentIndex:
    """What `segments.json` says."""

    width_px: int
    height_px: int
    segment_px: int
    """Columns of every segment but the last one that was written."""
    direction: int
    """+1: the panorama grew to the right; -1: to the left, so the first file is the right end."""
    files: tuple[str, ...]
    """In the order of writing."""

    @property
    def origin_px(self) -> int:
        """`Columns.x_px` of the finished panorama's left edge: take it off an x that was told while the run lasted."""
        return 0 if self.direction > 0 else -self.width_px

    def span(self, number: int) -> tuple[int, int]:
        """First column and the one after the last of a segment, counted from the panorama's left edge."""
        start = number * self.segment_px
        stop = min(start + self.segment_px, self.width_px)
        return (start, stop) if self.direction > 0 else (self.width_px - stop, self.width_px - start)


class SegmentWriter:
    """Gathers finished columns and writes them as pictures; memory is one segment.

    The same columns give the same bytes, so a run that was cut and is done again overwrites its segments with equals.
    """

    def __init__(
        self,
        folder: Path,
        *,
        width_px: int = 4096,
        kind: str = "png",
        write: Callable[[Path, bytes], None] = write_atomic,
    ) -> None:
        """Nothing is written before a segment is full.

        Args:
            folder: where the segments go; made when missing.
            width_px: columns per segment, 16 to 65,500.
            kind: png (what is stored is exactly what was segmented) or jpg (smaller, not exact).
            write: writes a file whole or not at all.

        Raises:
            SettingsError: another kind or width.
        """
        if kind not in _ENCODING:
            raise SettingsError(f"segments cannot be written as {kind!r}", mend="choose png or jpg")
        if not 16 <= width_px <= WIDEST_SEGMENT_PX:
            raise SettingsError(f"a segment must be 16 to {WIDEST_SEGMENT_PX} px wide, got {width_px}")
        self._folder, self._segment_px, self._kind, self._write_file = folder, width_px, kind, write
        self._parts: list[Image] = []
        self._held_px = 0
        self._width_px = 0
        self._height_px = 0
        self._direction = 1
        self._end_px: int | None = None
        self._files: list[str] = []

    @property
    def width_px(self) -> int:
        """Columns that were taken so far."""
        return self._width_px

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the segments that are on the disk, in the order of writing."""
        return tuple(self._files)

    def add(self, columns: Columns) -> list[Path]:
        """Take finished columns, which must adjoin the last ones; return the files that they completed.

        Raises:
            ValueError: the columns do not adjoin or are of another height (a bug of the caller).
            StorageError: the disk is full, read-only or failing.
        """
        written: list[Path] = []
        if not columns.image.shape[1]:  # nothing to keep, and nothing that tells the direction
            return written
        self._join(columns)
        rest = columns.image
        while rest.shape[1]:
            part, rest = _split(rest, self._segment_px - self._held_px, self._direction)
            self._parts.append(part)
            self._held_px += part.shape[1]
            if self._held_px == self._segment_px:
                written.append(self._write())
        return written

    def finish(self) -> SegmentIndex:
        """Write the last segment and the index.

        Raises:
            StorageError: the disk is full, read-only or failing.
        """
        if self._held_px:
            self._write()
        index = SegmentIndex(
            self._width_px, self._height_px, self._segment_px, self._direction, tuple(self._files)
        )  # fmt: skip
        make_folder(self._folder)
        self._write_file(self._folder / INDEX_NAME, (json.dumps(asdict(index), indent=2) + "\n").encode())
        return index

    def _join(self, columns: Columns) -> None:
        """Check that the columns adjoin; the first ones tell the direction, since they start or end at column 0."""
        height, width = columns.image.shape[:2]
        if self._end_px is None:
            self._height_px = height
            self._direction = -1 if columns.x_px + width == 0 else 1
            self._end_px = 0
        near = columns.x_px if self._direction > 0 else columns.x_px + width
        if near != self._end_px or height != self._height_px:
            raise ValueError(f"columns at {columns.x_px} ({width} x {height}) do not adjoin column {self._end_px}")
        self._end_px += self._direction * width
        self._width_px += width

    def _write(self) -> Path:
        image = np.concatenate(self._parts[:: self._direction], axis=1)
        path = self._folder / segment_name(len(self._files), self._kind)
        make_folder(self._folder)
        self._write_file(path, _encode(image, self._kind))
        self._files.append(path.name)
        self._parts, self._held_px = [], 0
        return path


class SegmentReader:
    """Reads any window of a panorama on disk; holds a few segments at a time.

    Raises:
        RunDamagedError: the index is missing or cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.index = read_index(folder)
        self._held: OrderedDict[int, Image] = OrderedDict()

    def window(self, start_px: int, stop_px: int) -> Image:
        """Columns start_px to stop_px (not included) of the settled panorama; black beyond its ends.

        Raises:
            RunDamagedError: a segment is missing, cannot be read or has another size.
        """
        image = np.zeros((self.index.height_px, max(stop_px - start_px, 0), 3), np.uint8)
        for number in range(len(self.index.files)):
            first, last = self.index.span(number)
            left, right = max(first, start_px), min(last, stop_px)
            if left < right:
                image[:, left - start_px : right - start_px] = self._segment(number)[:, left - first : right - first]
        return image

    def overview(self, shrink: int, *, lenient: bool = False) -> Image:
        """The whole panorama, shrunk by 1, 2, 4 or 8; jpg segments are decoded at that size, which is much faster.

        Args:
            shrink: how many times smaller.
            lenient: a segment that is missing or cannot be read stays black.

        Raises:
            RunDamagedError: a segment is missing or cannot be read.
        """
        height_px = max(self.index.height_px // shrink, 1)
        image = np.zeros((height_px, max(self.index.width_px // shrink, 1), 3), np.uint8)
        for number, name in enumerate(self.index.files):
            first, last = self.index.span(number)
            left, right = first // shrink, min(max(last // shrink, first // shrink + 1), image.shape[1])
            if right > left:
                try:
                    small = decode_segment(self._folder / name, _REDUCED[shrink])
                except RunDamagedError:
                    if lenient:
                        continue
                    raise
                image[:, left:right] = cv2.resize(small, (right - left, height_px), interpolation=cv2.INTER_AREA)
        return image

    def _segment(self, number: int) -> Image:
        if number in self._held:
            self._held.move_to_end(number)
            return self._held[number]
        path = self._folder / self.index.files[number]
        first, last = self.index.span(number)
        image = decode_segment(path)
        if image.shape[:2] != (self.index.height_px, last - first):
            raise RunDamagedError(f"{path} is {image.shape[1]} x {image.shape[0]}, not as {INDEX_NAME} says")
        self._held[number] = image
        if len(self._held) > _SEGMENTS_HELD:
            self._held.popitem(last=False)
        return image


def read_index(folder: Path) -> SegmentIndex:
    """The index of a finished panorama.

    Raises:
        RunDamagedError: it is missing (the panorama is unfinished) or cannot be read.
    """
    path = folder / INDEX_NAME
    try:
        index = settings_from(json.loads(path.read_bytes()), SegmentIndex)
    except FileNotFoundError as error:
        raise RunDamagedError(f"{path} is missing, so the panorama is unfinished", mend="finish the run") from error
    except (OSError, ValueError, TypeError, AttributeError, RecursionError, SettingsError) as error:
        raise RunDamagedError(f"{path} cannot be read: {error}") from error
    wrong = _wrong_in(index)
    if wrong is not None:
        raise RunDamagedError(f"{path} cannot be right: {wrong}", mend="take it from a copy, or build it again")
    return index


def _wrong_in(index: SegmentIndex) -> str | None:
    """What no writer of segments would say; None where all fits together."""
    if index.direction not in (1, -1):
        return f"direction is {index.direction}"
    if not 16 <= index.segment_px <= WIDEST_SEGMENT_PX:
        return f"segment_px is {index.segment_px}"
    if index.width_px < 0 or index.height_px < 0:
        return f"{index.width_px} x {index.height_px} px"
    wanted = -(-index.width_px // index.segment_px)
    if len(index.files) != wanted:
        return f"{counted(len(index.files), 'file')} for {index.width_px} columns, it takes {wanted}"
    other = [name for name in index.files if not _SEGMENT_NAME.fullmatch(name)]
    return f"{other[0]} is no segment" if other else None


def segment_name(number: int, kind: str) -> str:
    """Name of a segment's file."""
    return f"segment_{number:05d}.{kind}"


def _split(image: Image, width_px: int, direction: int) -> tuple[Image, Image]:
    """The columns that were finished first, at most width_px of them, and the rest."""
    if direction > 0:
        return image[:, :width_px], image[:, width_px:]
    cut = max(image.shape[1] - width_px, 0)
    return image[:, cut:], image[:, :cut]


def _encode(image: Image, kind: str) -> bytes:
    done, data = cv2.imencode(f".{kind}", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), _ENCODING[kind])
    if not done:
        raise ValueError(f"OpenCV cannot encode {image.shape[1]} x {image.shape[0]} as {kind}")
    return data.tobytes()


def decode_segment(path: Path, how: int = cv2.IMREAD_COLOR) -> Image:
    """The picture of a segment's file, RGB.

    Args:
        path: the file.
        how: OpenCV's flag of reading, for instance at a reduced size.

    Raises:
        RunDamagedError: it is missing, cannot be read or is no picture.
    """
    try:
        bgr = cv2.imdecode(np.frombuffer(path.read_bytes(), np.uint8), how)
    except (OSError, cv2.error) as error:
        raise RunDamagedError(f"{path} cannot be read: {error}") from error
    if bgr is None:
        raise RunDamagedError(f"{path} is not a picture")
    return np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB), np.uint8)
