"""A panorama that still grows leaves a note, so that what is on the disk can be closed after a power cut.

The note (`growing.json`) is written before the first segment. Segments are written whole or not at all and in order, so
note and files together tell everything that the index of a finished panorama says.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from edgekit.atomic import make_folder, write_atomic
from edgekit.errors import RunDamagedError
from edgekit.runtime.panorama.segments import INDEX_NAME, SegmentIndex, decode_segment, read_index, segment_name

NOTE_NAME = "growing.json"


@dataclass(frozen=True)
class GrowthNote:
    """What is known of a panorama before its first segment is written."""

    height_px: int
    segment_px: int
    direction: int
    """+1: grows to the right; -1: to the left."""
    kind: str
    """Ending of the segments: jpg or png."""


def write_note(folder: Path, note: GrowthNote, *, write: Callable[[Path, bytes], None] = write_atomic) -> None:
    """Leave the note of a panorama that begins.

    Raises:
        StorageError: the disk is full, read-only or failing.
    """
    make_folder(folder)
    write(folder / NOTE_NAME, (json.dumps(asdict(note)) + "\n").encode())


def read_note(folder: Path) -> GrowthNote | None:
    """The note; None where there is none, so that no segment can be there either.

    Raises:
        RunDamagedError: it cannot be read.
    """
    path = folder / NOTE_NAME
    try:
        return GrowthNote(**json.loads(path.read_bytes()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise RunDamagedError(f"{path} cannot be read: {error}") from error


def close_left_open(folder: Path) -> SegmentIndex | None:
    """Finish a panorama with the segments that are on the disk, and write its index; None where there are none.

    A panorama that has its index already is left as it is.

    Raises:
        RunDamagedError: the note or a segment cannot be read.
        StorageError: the index cannot be written.
    """
    if (folder / INDEX_NAME).exists():
        return read_index(folder)
    note = read_note(folder)
    if note is None:
        return None
    there = sorted(path.name for path in folder.glob(f"segment_*.{note.kind}"))
    if not there:
        return None
    count = int(there[-1].split("_")[1].split(".")[0]) + 1  # earlier ones may have been given up for want of space
    width_px = (count - 1) * note.segment_px + decode_segment(folder / there[-1]).shape[1]
    files = tuple(segment_name(number, note.kind) for number in range(count))
    index = SegmentIndex(width_px, note.height_px, note.segment_px, note.direction, files)
    write_atomic(folder / INDEX_NAME, (json.dumps(asdict(index), indent=2) + "\n").encode())
    return index
