"""What a person can choose about how a model runs."""

from __future__ import annotations

from dataclasses import dataclass

from edgekit.errors import SettingsError


@dataclass(frozen=True)
class SegmenterSettings:
    """How a segmenter is opened.

    Raises:
        SettingsError: a number of threads that cannot be.
    """

    provider: str = "cpu"
    """Execution provider: a short name of `providers.PROVIDERS` or ONNX Runtime's own name."""
    threads: int | None = None
    """Threads within an operator; None: one a physical core."""
    allow_cpu_fallback: bool = False
    """True: run on the CPU where the wanted provider is not there (recorded); False: that is an error."""

    def __post_init__(self) -> None:
        if self.threads is not None and not 1 <= self.threads <= 1024:
            raise SettingsError(f"threads = {self.threads}", mend="use a number from 1 to 1024, or leave it out")
