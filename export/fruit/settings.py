"""Settings of the training run, read from ``train.toml``: frozen, complete, unknown keys refused."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

try:
    import tomllib  # type: ignore[import-not-found,unused-ignore]
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib  # type: ignore[import-not-found,no-redef,unused-ignore]

Built = TypeVar("Built")


class SettingsError(ValueError):
    """A settings file says something that is not understood."""


@dataclass(frozen=True)
class ModelSettings:
    """What is trained."""

    yaml: str
    """Ultralytics' model description."""
    class_name: str
    """The one class."""
    start_classes: tuple[int, ...]
    """Classes of the start detector (COCO numbering) whose scores begin the fruit class."""


@dataclass(frozen=True)
class ScheduleSettings:
    """How long and how fast."""

    steps: int
    """Optimiser steps."""
    processes: int
    """Single-thread processes with averaged gradients."""
    batch: int
    """Tiles per process and step."""
    lr: float
    """Peak learning rate of AdamW."""
    final_lr_share: float
    """Learning rate at the end as a share of the peak."""
    warmup_steps: int
    """Steps of linear warm-up."""
    weight_decay: float
    """Decoupled decay, on kernels only."""
    clip_norm: float
    """Largest gradient norm."""
    ema_decay: float
    """Decay of the weights' moving average, which is what ships."""
    plain_share: float
    """Last share of the steps, without mosaic and pasted fruit."""
    bf16: bool
    """Autocast of the forward pass to bfloat16."""
    checkpoint_every: int
    """Steps between checkpoints."""


@dataclass(frozen=True)
class TileSettings:
    """What a training tile is."""

    size: int
    """Side in pixels."""
    min_visible: float
    """Smallest visible share of a fruit that keeps its label."""
    min_px: int
    """Smallest visible area in pixels that keeps its label."""


@dataclass(frozen=True)
class AugmentSettings:
    """Chances and ranges of the augmentation."""

    mosaic: float
    """Chance of a tile of four cells."""
    focus: float
    """Chance that a window is laid around a fruit rather than anywhere."""
    paste: float
    """Chance that fruit from the bank is pasted."""
    paste_most: int
    """Most fruit pasted on one tile."""
    paste_px: tuple[float, float]
    """Size (root of the area, pixels) of pasted fruit."""
    paste_occlude: float
    """Chance that part of a pasted fruit stays behind the picture."""
    recolour: float
    """Chance that one labelled fruit changes its hue."""
    cover: float
    """Least share of a window's side that its picture covers (scales are raised to it)."""
    rotate_deg: float
    """Largest rotation."""
    stretch: float
    """Largest change of the aspect ratio."""
    hue: float
    """Hue jitter of the tile as a share of the circle."""
    saturation: float
    """Saturation jitter as a share."""
    value: float
    """Brightness jitter as a share."""
    grey: float
    """Chance of a tile without colour."""
    blur: float
    """Chance of blur."""
    noise: float
    """Chance of noise."""


@dataclass(frozen=True)
class HeldOut:
    """A picture kept out of training."""

    name: str
    """File name."""
    use: str
    """``test`` (figures) or ``threshold`` (fixes the deployed threshold)."""
    reason: str
    """Why this one."""


@dataclass(frozen=True)
class SetSettings:
    """One labelled set."""

    folder: str
    """Folder under the data root; pictures in its ``images/``."""
    labels: str
    """COCO file in the folder."""
    weight: float
    """Share of windows cut from this set; 0: fruit is only pasted from it."""
    paste_weight: float
    """Share of pasted fruit from this set."""
    scale: tuple[float, float]
    """Range of scales (log-uniform), see ``base``."""
    base: str
    """What scale 1 is: ``width:N`` (picture resized to N wide) or ``fruit`` (median fruit 1 px: scales are sizes)."""
    max_upscale: float
    """Largest enlargement of a source pixel."""
    categories: tuple[str, ...] = ()
    """Categories that mark whole fruit; empty: all."""
    held_out: tuple[HeldOut, ...] = ()
    """Pictures that are not trained on."""


@dataclass(frozen=True)
class Settings:
    """The whole file."""

    seed: int
    model: ModelSettings
    schedule: ScheduleSettings
    tile: TileSettings
    augment: AugmentSettings
    sets: tuple[SetSettings, ...]


def _frozen(value: Any) -> Any:
    """Lists become tuples, so that settings stay hashable."""
    return tuple(_frozen(v) for v in value) if isinstance(value, list) else value


def build(cls: type[Built], table: Mapping[str, Any], where: str) -> Built:
    """Make ``cls`` from a TOML table. Raises SettingsError on an unknown or missing key."""
    known = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise SettingsError(f"{where}: unknown key {key!r}{hint}")
    missing = [n for n, f in known.items() if n not in table and f.default is MISSING]
    if missing:
        raise SettingsError(f"{where}: missing {', '.join(missing)}")
    return cls(**{key: _frozen(value) for key, value in table.items()})


def _set(table: Mapping[str, Any], where: str) -> SetSettings:
    """One ``[[sets]]`` table with its held-out list."""
    held = [build(HeldOut, h, f"{where}.held_out") for h in table.get("held_out", [])]
    return build(SetSettings, {**table, "held_out": held}, where)


def read(path: Path) -> Settings:
    """Read ``train.toml``. Raises SettingsError on unknown or missing keys."""
    top = dict(tomllib.loads(path.read_text(encoding="utf-8")))
    parts = {"model": ModelSettings, "schedule": ScheduleSettings, "tile": TileSettings, "augment": AugmentSettings}
    for name, cls in parts.items():
        if name in top:
            top[name] = build(cls, top[name], f"{path.name} [{name}]")
    if "sets" in top:
        top["sets"] = [_set(t, f"{path.name} sets[{k}]") for k, t in enumerate(top["sets"])]
    return build(Settings, top, path.name)
