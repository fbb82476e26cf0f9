"""A process of its own that opens a stream by PyAV and writes its frames to standard output.

    python -m edgekit.runtime.sources.feeder ADDRESS [FORMAT] [KEY=VALUE ...]

It may block for ever in a network or driver call; whoever started it can kill it, which a thread would not allow.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

import av

from edgekit.runtime.sources.exposure_lock import lock_exposure
from edgekit.runtime.sources.framing import header

_STDOUT = 1
NO_VIDEO = "there is no video in"
EXPOSURE_KEY = "edgekit_exposure_us"
"""Not an option of FFmpeg: the exposure to which a V4L2 camera is locked once it is open."""


def feed(address: str, container_format: str | None, options: dict[str, str]) -> None:
    """Write every frame of the stream until it ends."""
    exposure_us = options.pop(EXPOSURE_KEY, None)
    with av.open(address, format=container_format, options=options) as container:
        if exposure_us is not None:
            lock_exposure(address, int(exposure_us))
        if not container.streams.video:
            raise OSError(f"{NO_VIDEO} {address}")
        stream = container.streams.video[0]
        stream.thread_type = "SLICE"
        for packet in container.demux(stream):
            try:
                pictures = packet.decode()
            except av.error.InvalidDataError:  # a stretch that was damaged on the way; the next key frame mends it
                continue
            for picture in pictures:
                _write(picture)


def _write(picture: Any) -> None:
    """The picture's rows as the converter left them, padding included: nothing is copied on this side of the pipe."""
    rgb = picture if picture.format.name == "rgb24" else picture.reformat(format="rgb24")
    plane = rgb.planes[0]
    time_s = None if picture.pts is None else float(picture.pts * picture.time_base)
    _write_all(memoryview(header((rgb.width, rgb.height), plane.line_size, time_s)))
    _write_all(memoryview(plane)[: plane.line_size * rgb.height])


def _write_all(data: memoryview) -> None:
    while data:
        data = data[os.write(_STDOUT, data) :]


def _follow_parent(parent: int) -> None:
    """End with whoever started this process, even where a call blocks and nothing is left to be written."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def main(words: Sequence[str]) -> int:
    """Exit codes: 0 the stream ended, 1 it could not be opened or broke, told on standard error."""
    threading.Thread(target=_follow_parent, args=(os.getppid(),), daemon=True).start()
    address, rest = words[0], list(words[1:])
    container_format = rest.pop(0) if rest and "=" not in rest[0] else None
    try:
        feed(address, container_format, dict(word.split("=", 1) for word in rest))
    except BrokenPipeError:
        return 0
    except (av.error.FFmpegError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
