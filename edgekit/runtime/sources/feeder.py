"""A process of its own that opens a stream by PyAV and writes its frames to standard output.

    python -m edgekit.runtime.sources.feeder ADDRESS [FORMAT] [KEY=VALUE ...]

It may block for ever in a network or driver call; whoever started it can kill it, which a thread would not allow.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import av
import numpy as np

from edgekit.runtime.sources.framing import packed


def feed(address: str, container_format: str | None, options: dict[str, str]) -> None:
    """Write every frame of the stream until it ends."""
    with av.open(address, format=container_format, options=options) as container:
        stream = container.streams.video[0]
        stream.thread_type = "SLICE"
        for frame in container.decode(stream):
            image = np.ascontiguousarray(frame.to_ndarray(format="rgb24"))
            sys.stdout.buffer.write(packed(image))
            sys.stdout.buffer.flush()


def main(words: Sequence[str]) -> int:
    """Exit codes: 0 the stream ended, 1 it could not be opened or broke, told on standard error."""
    address, rest = words[0], list(words[1:])
    container_format = rest.pop(0) if rest and "=" not in rest[0] else None
    try:
        feed(address, container_format, dict(word.split("=", 1) for word in rest))
    except BrokenPipeError:
        return 0
    except (av.error.FFmpegError, OSError, IndexError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
