"""How much memory this process has taken at most."""

from __future__ import annotations

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
