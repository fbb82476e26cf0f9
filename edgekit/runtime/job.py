"""What a run is asked to do."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from edgekit.contracts import Segmenter
from edgekit.runtime.settings import RunSettings
from edgekit.store import RunPlan, Season, SourcePlan


@dataclass(frozen=True)
class BuiltRow:
    """What an earlier run knows of a row beside its pictures."""

    segments: Path
    """Folder of its panorama."""
    row: str | None = None
    """Name of a live row, and the side of the trolley."""
    side: str | None = None
    remarks: tuple[str, ...] = ()
    """What a person should know of its panorama: frames that were left out, bridged stretches."""
    px_per_metre: float | None = None
    """Scale that was measured in this row."""
    bridged: tuple[tuple[int, int], ...] = ()
    """Stretches whose movement was predicted: first column and the one after the last."""


@dataclass(frozen=True)
class Job:
    """What is to be counted, and how."""

    sources: tuple[SourcePlan, ...]
    """Empty for a live run, whose rows come while it lasts."""
    model_file: str
    """Name of the model's file, for the record."""
    settings: RunSettings
    """Its tiles have the model's size."""
    threshold: float
    """Confidence at or above which a fruit counts."""
    threshold_from: str
    """Where the threshold comes from, in words."""
    season: Season | None = None
    """Thresholds by height, and the season's confidences, from which the run's may drift; None without a profile."""

    built: tuple[BuiltRow, ...] = ()
    """Where the panoramas are those of an earlier run: a row for each source."""

    def plan(self, segmenter: Segmenter) -> RunPlan:
        """Everything that decides the result, as it is stored with the run."""
        info, provider = segmenter.info, segmenter.provider
        model: dict[str, Any] = {"file": self.model_file, "model_id": info.model_id, "provider": asdict(provider)}
        model |= json.loads(json.dumps(asdict(info)))
        judged = (self.threshold, self.threshold_from, self.sources, self.season)
        return RunPlan(model, info.model_id, self.settings.flat(), *judged)
