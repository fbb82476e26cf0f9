"""The GPU of this machine, as a sidecar names it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgekit.segment.engine_file import Device

JETSON_RELEASE = Path("/etc/nv_tegra_release")


def describe_device(cuda: Any, tensorrt_version: str) -> Device:
    """The first GPU; no context is made.

    Args:
        cuda: `pycuda.driver`, its driver started.
        tensorrt_version: of the TensorRT that is installed.
    """
    gpu = cuda.Device(0)
    major, minor = gpu.compute_capability()
    return Device(gpu.name(), f"{major}.{minor}", tensorrt_version, jetpack_release())


def jetpack_release(file: Path = JETSON_RELEASE) -> str | None:
    """Release of Jetson Linux, such as R36.4.3; None on other machines.

    The file's first line is `# R36 (release), REVISION: 4.3, GCID: ...`.
    """
    try:
        words = file.read_text("utf-8").split()
    except OSError:
        return None
    revision = words[words.index("REVISION:") + 1].rstrip(",") if "REVISION:" in words else "?"
    return f"{words[1]}.{revision}" if len(words) > 1 else None
