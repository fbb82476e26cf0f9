"""How much memory this process has taken at most."""

from __future__ import annotations

import ctypes
import re
import resource
import sys
from pathlib import Path

_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)


def peak_rss_mb() -> float:
    """Largest resident memory of this process so far, in MiB.

    From /proc where there is one: `getrusage` also counts the memory of the process that started this one.
    """
    try:
        found = _PEAK.search(Path("/proc/self/status").read_text("ascii"))
    except OSError:
        found = None
    if found:
        return int(found[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024**2 if sys.platform == "darwin" else peak / 1024


_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
_LARGE_BYTES = 1 << 20


def keep_heap_small() -> None:
    """Have the C library give pictures back to the system as soon as they are let go (glibc; elsewhere nothing).

    By default it learns to keep blocks of the size of a frame, in a heap for each thread, where they lie between small
    blocks that stay: a process of many threads that handles frames for hours grows. A frame then costs about 0.3 ms for
    its pages.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return
    mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
    mallopt(_M_ARENA_MAX, 2)
