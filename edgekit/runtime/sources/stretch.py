"""A stretch of a recording, named `FILE#NAME:FIRST-STOP`: some of its frames under a name of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from edgekit.contracts import Frame, FrameSource

_NAME = re.compile(r"(?P<file>.+)#(?P<name>[^#/:]+):(?P<first>\d+)-(?P<stop>\d+)")


@dataclass(frozen=True)
class Stretch:
    """Frames `first` to `stop` (not included), by their sequence numbers, of a recording."""

    file: Path
    name: str
    first: int
    stop: int

    @property
    def path(self) -> Path:
        """How the stretch is written."""
        return Path(f"{self.file}#{self.name}:{self.first}-{self.stop}")


def parse_stretch(path: Path) -> Stretch | None:
    """The stretch that a path names; None where it names a file or folder."""
    match = None if path.exists() else _NAME.fullmatch(str(path))
    if match is None:
        return None
    return Stretch(Path(match["file"]), match["name"], int(match["first"]), int(match["stop"]))


class StretchSource:
    """The frames of a stretch; what comes before is read and passed over, what comes after is not read.

    Args:
        source: the whole recording.
        stretch: which of its frames.
    """

    def __init__(self, source: FrameSource, stretch: Stretch) -> None:
        self._source = source
        self._stretch = stretch

    @property
    def name(self) -> str:
        """File, name and frames."""
        return str(self._stretch.path)

    @property
    def length(self) -> int | None:
        """Frames of the stretch."""
        return self._stretch.stop - self._stretch.first

    @property
    def faults(self) -> tuple[str, ...]:
        """Of the recording, as far as it was read."""
        return self._source.faults

    def __iter__(self) -> Iterator[Frame]:
        """The frames, with their numbers and times in the recording."""
        for frame in self._source:
            if frame.sequence >= self._stretch.stop:
                return
            if frame.sequence >= self._stretch.first:
                yield frame

    def close(self) -> None:
        """Let go of the recording."""
        self._source.close()
