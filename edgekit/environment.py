"""One x-ray of the machine: processor, GPU, Jetson board, JetPack, and the versions that decide speed."""

from __future__ import annotations

import platform
import re
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

PACKAGES = (
    "edgekit", "numpy", "opencv-python", "onnxruntime", "onnxruntime-gpu", "tensorrt", "torch", "torchvision",
    "ultralytics", "onnx",
)  # fmt: skip
"""Packages whose versions move speed or results."""
JETPACK_BY_L4T = {32: 4, 35: 5, 36: 6, 38: 7, 39: 7}
"""Release of Jetson Linux -> JetPack."""
_L4T = re.compile(r"# R(\d+) \(release\), REVISION: ([\d.]+)")


@dataclass(frozen=True)
class Environment:
    """What the machine is; None where it does not apply."""

    system: str
    machine: str
    """x86_64, aarch64."""
    processor: str
    cores: int
    """Logical cores that this process may use."""
    memory_mb: float
    python: str
    board: str | None
    """Model of a Jetson or another single board computer."""
    jetpack: int | None
    l4t: str | None
    """Release of Jetson Linux, such as 36.4.3."""
    providers: tuple[str, ...]
    """Execution providers that the installed onnxruntime offers."""
    packages: dict[str, str]

    def as_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""
        return asdict(self) | {"providers": list(self.providers)}

    @property
    def is_jetson(self) -> bool:
        """True on a Jetson, whatever its release."""
        return self.l4t is not None or (self.board is not None and "jetson" in self.board.lower())


def read_environment(*, root: Path = Path("/"), ask_onnxruntime: bool = True) -> Environment:
    """Look at the machine. Nothing is installed, changed or asked over the network.

    Args:
        root: the file system's root; for tests.
        ask_onnxruntime: whether onnxruntime is imported to tell its providers.
    """
    release = parse_l4t(_text(root / "etc/nv_tegra_release"))
    return Environment(
        system=f"{platform.system()} {platform.release()}",
        machine=platform.machine(),
        processor=_processor(root),
        cores=_usable_cores(),
        memory_mb=psutil.virtual_memory().total / 2**20,
        python=platform.python_version(),
        board=_text(root / "proc/device-tree/model").strip("\0\n ") or None,
        jetpack=None if release is None else JETPACK_BY_L4T.get(int(release.split(".")[0])),
        l4t=release,
        providers=_providers() if ask_onnxruntime else (),
        packages={name: found for name in PACKAGES if (found := _version(name)) is not None},
    )


def parse_l4t(text: str) -> str | None:
    """Release of Jetson Linux from /etc/nv_tegra_release; None where the text has none."""
    found = _L4T.search(text)
    return f"{found[1]}.{found[2]}" if found else None


def _processor(root: Path) -> str:
    for line in _text(root / "proc/cpuinfo").splitlines():
        if line.startswith(("model name", "Model")):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _usable_cores() -> int:
    import os

    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _providers() -> tuple[str, ...]:
    try:
        import onnxruntime
    except ImportError:
        return ()
    return tuple(onnxruntime.get_available_providers())


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
