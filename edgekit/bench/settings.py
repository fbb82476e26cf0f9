"""What can be chosen of a bench."""

from __future__ import annotations

from dataclasses import dataclass, field

from edgekit.bench.accuracy.evaluate import AccuracySettings
from edgekit.bench.latency.measure import MeasureSettings
from edgekit.bench.latency.trolley import TrolleySettings
from edgekit.errors import SettingsError

SECTIONS = ("model", "latency", "device", "accuracy")
"""The sections of a report, in its order."""


LARGEST_CALL = 256
"""Tiles of 512 x 512 pixels in one call: 200 MB of pixels, and some GB of activations."""


@dataclass(frozen=True)
class BenchSettings:
    """Everything but the models and the data.

    Raises:
        SettingsError: a section that does not exist, or a batch below 1.
    """

    sections: tuple[str, ...] = SECTIONS
    """Which sections are measured."""
    batches: tuple[int, ...] = (1, 4)
    """Tiles per call at which the throughput is told."""
    pipeline: bool = True
    """Whether the stages of the real pipeline are timed, on the row that comes with the package."""
    measure: MeasureSettings = field(default_factory=MeasureSettings)
    trolley: TrolleySettings = field(default_factory=TrolleySettings)
    accuracy: AccuracySettings = field(default_factory=AccuracySettings)

    def __post_init__(self) -> None:
        unknown = [name for name in self.sections if name not in SECTIONS]
        if unknown or not self.sections:
            raise SettingsError(f"no section {', '.join(unknown) or '(none)'}", mend=f"choose of {', '.join(SECTIONS)}")
        if not self.batches or not all(1 <= size <= LARGEST_CALL for size in self.batches):
            raise SettingsError(f"tiles a call: {list(self.batches)}", mend=f"give numbers from 1 to {LARGEST_CALL}")
