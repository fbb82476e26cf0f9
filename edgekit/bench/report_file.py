"""A report of `edgekit bench` as a file: what it says of itself, and what is read of it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from edgekit.environment import read_environment
from edgekit.errors import LabelsError, MeasurementError, SettingsError
from edgekit.labels.coco import read_json
from edgekit.settings_file import settings_from

Json = dict[str, Any]
FORMAT, FORMAT_VERSION = "edgekit-bench", 1
"""What a report file says of itself; the version rises when a reader of the older one would misread it."""


def document(models: Sequence[Json], labels: Json | None) -> Json:
    """A report: what it is, when and where it was made, and its models."""
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "environment": read_environment().as_dict(),
        "labels": labels,
        "models": list(models),
    }


def read_report(path: Path) -> Json:
    """A report from its file.

    Raises:
        MeasurementError: see `check_document`; or the file cannot be read or is no JSON.
    """
    try:
        data = read_json(path)
    except LabelsError as error:
        raise MeasurementError(error.what, mend=error.mend) from error
    return check_document(data, str(path))


def check_document(data: Any, name: str) -> Json:
    """A report that was read from a file; `name` is for messages.

    Raises:
        MeasurementError: it is none, of a newer format, holds no model or two of one name, or a value of a wrong type:
            the line names the key.
    """
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise MeasurementError(f"{name} is no report of edgekit bench", mend="name a JSON file that --out wrote")
    if data.get("format_version") != FORMAT_VERSION:
        raise MeasurementError(f"{name} has format version {data.get('format_version')}, this edgekit reads "
                               f"{FORMAT_VERSION}", mend="measure again, or use the edgekit that wrote it")  # fmt: skip
    try:
        models = settings_from(data, _Report, others=True).models
    except SettingsError as error:
        mend = f"{error.mend}, or measure again" if error.mend else "measure again"
        raise MeasurementError(f"{name}: {error.what}", mend=mend) from error
    names = [model.name for model in models]
    if not names:
        raise MeasurementError(f"{name} holds no model", mend="measure one: edgekit bench MODEL --out FILE")
    twice = [model for model in dict.fromkeys(names) if names.count(model) > 1]
    if twice:
        raise MeasurementError(f"{name} has two models named {twice[0]}", mend="give each a name of its own")
    return data


@dataclass(frozen=True)
class _Figure:
    value: float | None = None
    at: float | None = None


@dataclass(frozen=True)
class _Draws:
    seed: int
    pictures: int
    values: Mapping[str, tuple[float | None, ...]]


@dataclass(frozen=True)
class _Data:
    digest: str
    pictures: int


@dataclass(frozen=True)
class _Reliability:
    p_value: float | None = None


@dataclass(frozen=True)
class _Accuracy:
    data: _Data
    figures: Mapping[str, _Figure]
    reliability: _Reliability | None = None
    draws: _Draws | None = None


@dataclass(frozen=True)
class _Latency:
    tile_ms_median: float
    samples_ms: tuple[float, ...]
    tiles_per_call: int

    def __post_init__(self) -> None:
        if self.tiles_per_call < 1 or not self.samples_ms:
            what = f"latency of {len(self.samples_ms)} samples, {self.tiles_per_call} tiles a call"
            raise SettingsError(what, mend="both are one or more")


@dataclass(frozen=True)
class _Device:
    energy_j_per_tile: float | None = None
    peak_host_memory_mb: float | None = None


@dataclass(frozen=True)
class _Cost:
    macs_per_image: float | None = None
    parameters: float | None = None


@dataclass(frozen=True)
class _Info:
    model: str = ""


@dataclass(frozen=True)
class _Model:
    """What `compare` and `table` read of a model; None: the section was not measured."""

    name: str
    info: _Info | None = None
    accuracy: _Accuracy | None = None
    latency: _Latency | None = None
    device: _Device | None = None
    model: _Cost | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise SettingsError("a model without a name", mend="give it one")


@dataclass(frozen=True)
class _Report:
    models: tuple[_Model, ...]
