"""Where a segmenter's time goes: before the graph, in it, and after it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class StageTimes:
    """Seconds spent since the segmenter was opened. Not kept where copies and kernels of two batches overlap."""

    spent_s: dict[str, float] = field(default_factory=lambda: {"preprocess": 0.0, "infer": 0.0, "postprocess": 0.0})
    """preprocess: tiles into the graph's input; infer: the graph, which scales and normalises; postprocess: masks drawn
    and rows read."""
    _since_s: float = 0.0

    def start(self) -> None:
        """What follows belongs to the stage that is named next."""
        self._since_s = time.perf_counter()

    def end(self, stage: str) -> None:
        """What came since `start`, or since the stage before, belongs to `stage`."""
        now_s = time.perf_counter()
        self.spent_s[stage] += now_s - self._since_s
        self._since_s = now_s
