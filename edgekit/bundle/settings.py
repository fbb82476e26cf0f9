"""What a bundle is for, and what goes into it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from edgekit.errors import SettingsError

OLDEST_GLIBC_MINOR, GLIBC_MINOR = 17, 28
"""Wheels for glibc 2.17 to 2.28 run on Ubuntu 22.04 (2.35, JetPack 6), 24.04 (2.39, JetPack 7) and Debian 12 (2.36)."""
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
MACHINES = ("aarch64", "x86_64")
JETPACK_OF_PYTHON = MappingProxyType({"3.10": 6, "3.12": 7})


@dataclass(frozen=True)
class BundleTarget:
    """The machine that a bundle is installed on.

    Raises:
        SettingsError: no such Python or machine.
    """

    python: str = "3.10"
    """Its Python: 3.10 for JetPack 6, 3.12 for JetPack 7."""
    machine: str = "aarch64"
    """Its processor, as `uname -m` says."""

    def __post_init__(self) -> None:
        if self.python not in PYTHONS:
            raise SettingsError(f"Python {self.python}", mend=f"use one of: {', '.join(PYTHONS)}")
        if self.machine not in MACHINES:
            raise SettingsError(f"platform {self.machine}", mend=f"use one of: {', '.join(MACHINES)}")

    @property
    def uv_platform(self) -> str:
        """Name of the platform in uv."""
        return f"{self.machine}-manylinux_2_{GLIBC_MINOR}"

    def pip_platforms(self) -> tuple[str, ...]:
        """Tags of the wheels that run there, as pip wants them: it takes each as it is, not the older ones with it."""
        minors = range(OLDEST_GLIBC_MINOR, GLIBC_MINOR + 1)
        return (f"manylinux2014_{self.machine}", *(f"manylinux_2_{minor}_{self.machine}" for minor in minors))


@dataclass(frozen=True)
class BundleContents:
    """What goes into a bundle beside the wheels."""

    models: tuple[Path, ...] = ()
    """Graphs; what lies beside them under the same name goes along. Engines do not: they are built on the device."""
    site: Path | None = None
    """Folder of the site file, camera descriptions and profiles; None: the templates."""
    wheel: Path | None = None
    """Wheel of edgekit; None: built from the checkout."""
    find_links: Path | None = None
    """Folder of further wheels, which is asked first."""
    offline: bool = False
    """Whether `find_links` alone is asked, and no index."""
