"""What a person can choose about how a model runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgekit.errors import SettingsError

BACKENDS = ("auto", "onnxruntime", "tensorrt")


@dataclass(frozen=True)
class SegmenterSettings:
    """How a segmenter is opened.

    Raises:
        SettingsError: a number of threads that cannot be, or an unknown backend.
    """

    provider: str = "cpu"
    """Execution provider: a short name of `providers.PROVIDERS` or ONNX Runtime's own name."""
    threads: int | None = None
    """Threads within an operator; None: one a physical core."""
    allow_cpu_fallback: bool = False
    """True: run on the CPU where the wanted provider is not there (recorded); False: that is an error."""
    backend: str | None = None
    """None: the file's own (graphs on ONNX Runtime, engines on TensorRT). auto: a graph's engine, where one lies beside
    it that fits this device, else ONNX Runtime. onnxruntime, tensorrt: that one or an error."""
    cuda_graph: bool = True
    """Record an engine's inference as a CUDA graph, where that can be done."""
    engine_cache: Path | None = None
    """Where ONNX Runtime's TensorRT providers keep the engines that they build; None: the user's cache folder."""

    def __post_init__(self) -> None:
        if self.threads is not None and not 1 <= self.threads <= 1024:
            raise SettingsError(f"threads = {self.threads}", mend="use a number from 1 to 1024, or leave it out")
        if self.backend is not None and self.backend not in BACKENDS:
            raise SettingsError(f"backend = {self.backend!r}", mend=f"use one of: {', '.join(BACKENDS)}")
