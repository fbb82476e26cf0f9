"""What the run database holds, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from edgekit.contracts import Instances, ResultFlag, TileSpec
from edgekit.store.count_rule import CountRule, Season

SourceKind = Literal["frames", "panorama", "live"]
SourceState = Literal["open", "waiting", "cut", "merged", "failed"]
"""open: a live row that still grows; waiting: tiles are missing; cut: every tile is stored; merged: its fruit is
stored; failed: it cannot be read."""


@dataclass(frozen=True)
class SourcePlan:
    """A source as it was named on the command line."""

    path: str
    kind: SourceKind
    fingerprint: str
    """Tells whether its files changed since."""


@dataclass(frozen=True)
class LiveRowPlan:
    """A row that begins in front of a camera."""

    row: str
    side: str
    opened_by: str
    """marker, command or movement."""


@dataclass(frozen=True)
class RunPlan:
    """Everything that decides a run's result; a run is only resumed by the same plan."""

    model: dict[str, Any]
    """What the graph says of itself, and where it runs; plain JSON types."""
    model_id: str
    settings: dict[str, Any]
    """Tiles, merging and panorama; plain JSON types."""
    threshold: float
    threshold_from: str
    sources: tuple[SourcePlan, ...]
    season: Season | None = None
    """What a season's profile gave beside the threshold; None where none was used."""

    @property
    def rule(self) -> CountRule:
        """From which confidence on a fruit counts."""
        return CountRule(self.threshold, self.season.bands if self.season else ())

    def differences(self, stored: RunPlan) -> list[str]:
        """What this plan has otherwise than the stored one, in words; empty where the run may be resumed."""
        found = []
        if self.model_id != stored.model_id:
            found.append(f"the model is {_model_name(self.model)}, it was {_model_name(stored.model)}")
        elif self.model.get("class_names") != stored.model.get("class_names"):
            found.append(
                f"the classes are {self.model.get('class_names')}, they were {stored.model.get('class_names')}"
            )
        found += _source_differences(self.sources, stored.sources)
        if self.threshold != stored.threshold:
            found.append(f"the threshold is {self.threshold:g}, it was {stored.threshold:g}")
        elif self.rule != stored.rule:
            found.append("the thresholds by height are others")
        keys = sorted(self.settings.keys() | stored.settings.keys())
        changed = [key for key in keys if self.settings.get(key) != stored.settings.get(key)]
        found += [f"{key} is {self.settings.get(key)}, it was {stored.settings.get(key)}" for key in changed]
        return found


@dataclass(frozen=True)
class PanoramaShape:
    """What is known of a source once every tile of it is cut."""

    frames: int | None
    """None where the source is a finished panorama."""
    size_wh: tuple[int, int]
    segments: int
    direction: int
    """+1: the panorama grew to the right; -1: to the left."""
    px_per_metre: float | None = None
    """Scale that was measured in this row; None where that of the run holds."""
    bridged: tuple[tuple[int, int], ...] = ()
    """Stretches whose movement was predicted: first column of the finished panorama and the one after the last."""


@dataclass(frozen=True)
class StoredRun:
    """A run as the database has it."""

    id: int
    plan: RunPlan
    edgekit: str
    """Version that started it."""
    finished: bool


@dataclass(frozen=True)
class StoredSource:
    """A source as the database has it; the four sizes are None until every tile is cut."""

    id: int
    number: int
    path: str
    kind: SourceKind
    state: SourceState
    frames: int | None
    width_px: int | None
    height_px: int | None
    segments: int | None
    row: str | None = None
    """Name of a live row; the fields from here on are None where the source is another."""
    side: str | None = None
    opened_by: str | None = None
    opened_at: str | None = None
    """By the wall clock, a label."""
    pictures: bool = True
    """False where its panorama's pictures were not kept, for want of space."""
    px_per_metre: float | None = None
    """Scale that was measured in this row; None where that of the run holds."""
    bridged: tuple[tuple[int, int], ...] = ()
    """Stretches of the panorama whose movement was predicted; figures per metre leave them out."""

    @property
    def size_wh(self) -> tuple[int, int]:
        """Width and height of the panorama in pixels; (0, 0) until they are known."""
        return self.width_px or 0, self.height_px or 0


@dataclass(frozen=True, eq=False)
class StoredTile:
    """A tile with what the model said of it."""

    spec: TileSpec
    instances: Instances
    """In tile pixels."""
    candidates: int
    flags: ResultFlag


@dataclass(frozen=True, eq=False)
class MergedFruit:
    """The fruit of one source, everything above the score floor, left to right."""

    instances: Instances
    """In panorama pixels."""
    cut: tuple[bool, ...]
    """True where no tile saw the whole fruit, so that its mask ends at a tile's border."""
    pieces: tuple[int, ...]
    """Number of detections that each fruit was made of."""

    def __len__(self) -> int:
        return len(self.instances)


@dataclass(frozen=True)
class Sitting:
    """The process that wrote a run last."""

    boot_id: str
    alive_s: float
    """Monotonic seconds, comparable within one boot_id, at which it was last known to work."""
    alive_at: str
    """The same moment by the wall clock, ISO 8601: a label."""
    ended: bool
    """True where it ended in an orderly way."""


def _model_name(model: dict[str, Any]) -> str:
    return f"{model.get('file', '?')} ({model.get('model', '?')}, id {str(model.get('model_id', '?'))[:12]})"


def _source_differences(wanted: tuple[SourcePlan, ...], stored: tuple[SourcePlan, ...]) -> list[str]:
    if not wanted and all(source.kind == "live" for source in stored):
        return []  # rows of a live run come as they come
    names, stored_names = [source.path for source in wanted], [source.path for source in stored]
    if names != stored_names:
        return [f"the sources are {', '.join(names)}; they were {', '.join(stored_names)}"]
    pairs = zip(wanted, stored, strict=True)
    changed = [
        mine.path for mine, theirs in pairs if (mine.kind, mine.fingerprint) != (theirs.kind, theirs.fingerprint)
    ]
    return [f"{path} has changed since, or is read in another way" for path in changed]
