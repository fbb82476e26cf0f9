"""Frames from a video file, with presentation times, and tolerant of corrupt stretches (PyAV)."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np

from edgekit.contracts import Frame
from edgekit.errors import SourceError
from edgekit.runtime.sources.faults import FaultLog

_SHORT_SHARE = 0.98
"""Below this share of the declared length a file is said to have ended early: declared lengths are rounded."""
_RATE_HZ = 30.0
"""Nominal rate of a stream that declares none."""


class VideoSource:
    """A video file as frames; no frame is ever dropped to keep pace.

    The declared number of frames is never relied upon. Frames that the decoder calls corrupt come with `fault` set;
    packets that cannot be decoded at all are a gap, told in `faults`. Rotation metadata is applied.
    """

    def __init__(self, path: Path) -> None:
        """Open the file and find its first video stream.

        Raises:
            SourceError: the file cannot be opened, or has no video in it.
        """
        self._path = path
        self._log = FaultLog()
        container = _open(path)
        stream = container.streams.video[0]
        self._rate_hz = float(stream.average_rate or _RATE_HZ)
        duration = stream.duration * stream.time_base if stream.duration else (container.duration or 0) / av.time_base
        self._duration_s = float(duration)
        self._declared = int(stream.frames) or round(self._duration_s * self._rate_hz) or None
        container.close()

    @property
    def name(self) -> str:
        """The path of the file."""
        return str(self._path)

    @property
    def length(self) -> int | None:
        """What the container declares, or what follows from its duration."""
        return self._declared

    @property
    def faults(self) -> tuple[str, ...]:
        """What was wrong so far: corrupt stretches, odd sizes, an early end."""
        return self._log.lines()

    def __iter__(self) -> Iterator[Frame]:
        """Frames in the order of presentation, from the beginning each time.

        Raises:
            SourceError: not one frame could be decoded (raised at the end).
        """
        self._log = FaultLog()
        container = _open(self._path)
        try:
            read = yield from self._frames(container)
        finally:
            container.close()
        if read == 0:
            raise SourceError(f"no frame of {self._path} can be decoded", mend="play the file in a player to check it")
        if self._declared and read < _SHORT_SHARE * self._declared:
            self._log.say(f"{read} of {self._declared} frames read, the file ended early or is damaged")

    def close(self) -> None:
        """Nothing is held open between iterations."""

    def _frames(self, container: Any) -> Generator[Frame, None, int]:
        size_wh: tuple[int, int] | None = None
        last_s = -1.0 / self._rate_hz
        sequence = -1
        for picture in self._pictures(container):
            sequence += 1
            time_s = self._time_s(picture, last_s)
            last_s = time_s
            image = _upright(picture)
            size_wh = size_wh or (image.shape[1], image.shape[0])
            if (image.shape[1], image.shape[0]) != size_wh:
                self._log.note(f"of another size than {size_wh[0]} x {size_wh[1]}", f"at {time_s:.2f} s")
                continue
            yield Frame(image, sequence, time_s, "corrupt stretch of the video" if picture.is_corrupt else None)
        return sequence + 1

    def _pictures(self, container: Any) -> Iterator[Any]:
        """Decoded pictures; an error of demuxer or decoder is noted and passed over."""
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        packets = container.demux(stream)
        while True:
            try:
                packet = next(packets, None)
            except av.error.FFmpegError as error:
                self._log.say(f"the file cannot be read further: {error.strerror}")
                return
            if packet is None:
                return
            if packet.is_corrupt:
                self._log.note("corrupt packet", self._at(packet))
            try:
                yield from packet.decode()
            except av.error.FFmpegError:
                self._log.note("packet that cannot be decoded", self._at(packet))

    def _at(self, packet: Any) -> str:
        return "at an unknown time" if packet.pts is None else f"at {float(packet.pts * packet.time_base):.2f} s"

    def _time_s(self, picture: Any, last_s: float) -> float:
        """Presentation time; nominal where the stream gives none or goes backwards."""
        nominal_s = last_s + 1.0 / self._rate_hz
        if picture.pts is None:
            self._log.say("some frames have no presentation time: theirs is nominal")
            return nominal_s
        time_s = float(picture.pts * picture.time_base)
        if time_s <= last_s:
            self._log.say("presentation times go backwards in places: there they are nominal")
            return nominal_s
        return time_s


def _open(path: Path) -> Any:
    try:
        container = av.open(str(path))
    except (av.error.FFmpegError, OSError) as error:
        hint = "an MP4 that was cut off lacks its index: record as MKV, or repair it with untrunc"
        raise SourceError(f"cannot read {path} as a video: {error.strerror}", mend=hint) from error
    if not container.streams.video:
        container.close()
        raise SourceError(f"{path} has no video in it", mend="give a video or a folder of pictures")
    return container


def _upright(picture: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """RGB pixels, row by row without the decoder's padding, turned as the rotation metadata says."""
    image = picture.to_ndarray(format="rgb24")
    quarter_turns = round((getattr(picture, "rotation", 0) or 0) / 90)
    return np.ascontiguousarray(np.rot90(image, quarter_turns)) if quarter_turns % 4 else image
