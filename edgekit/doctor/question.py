"""What the doctor is asked about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgekit.runtime.sources import CameraDescription


@dataclass(frozen=True)
class Question:
    """The places that this device's site uses."""

    models: tuple[Path, ...] = ()
    """Folders in which engines are looked for."""
    out: Path = Path()
    """Folder of the runs."""
    cameras: tuple[tuple[str, CameraDescription], ...] = ()
    """Name and description of each camera; empty where no site file is given."""
    wants_gpu: bool = False
    """Whether the site wants the model to run on a GPU."""
    encoder: str = ""
    """Port of the encoder; empty where the site names none."""
