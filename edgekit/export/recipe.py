"""A recipe: what a person decides about an export, read from a TOML file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from edgekit.errors import SettingsError
from edgekit.settings_file import read_settings
from edgekit.templates import templates_root

Target = Literal["cpu", "tensorrt"]
"""Where the graph will run: ONNX Runtime's CPU provider, or TensorRT. The rows are the same, the operators are not."""
Precision = Literal["fp32", "fp16", "int8"]

SUFFIX = ".toml"


@dataclass(frozen=True)
class Recipe:
    """Settings of one export.

    Raises:
        SettingsError: impossible sizes or shares.
    """

    model: str
    """Family: yolo11, mask_rcnn, ms_rcnn, mask_rcnn_sw."""
    classes: tuple[str, ...] = ()
    """Class names without background; empty: the names in the weights."""
    variant: str = ""
    """Size of the family (yolo11: n, s, m, l, x) for an untrained graph; weights bring their own."""
    tile_size_px: int = 512
    """S: tiles are S x S."""
    inner_size_px: int = 512
    """Size that the network sees after the graph's own resize; equal to the tile size: no resize."""
    mean_rgb: tuple[float, ...] = (0.0, 0.0, 0.0)
    """Subtracted from the pixels, which are scaled to 0..1 first."""
    std_rgb: tuple[float, ...] = (1.0, 1.0, 1.0)
    """Divides the pixels after that."""
    max_detections: int = 300
    """K rows a tile."""
    nms_candidates: int = 1024
    """Boxes, best first, that enter NMS (R-CNN: of each pyramid level, before the proposals); a cut sets the flag."""
    proposals: int | None = None
    """RoIs that reach the heads of a two-stage model; None for one-stage models."""
    score_floor: float = 0.05
    """A detection below it is not returned."""
    nms_iou: float = 0.7
    """Boxes of one class that overlap more are one object."""
    precision: Precision = "fp32"
    batch: int = 1
    """B tiles a call, fixed in the graph."""
    targets: tuple[Target, ...] = ("cpu",)
    """One artifact each."""

    def __post_init__(self) -> None:
        _check_choice("precision", self.precision, get_args(Precision))
        for target in self.targets:
            _check_choice("targets", target, get_args(Target))
        if not self.targets or len(set(self.targets)) < len(self.targets):
            raise SettingsError(f"targets = {list(self.targets)}", mend="name one or more targets, each once")
        for name in ("tile_size_px", "inner_size_px"):
            _check_range(name, getattr(self, name), 32, 8192)
            if getattr(self, name) % 32:
                raise SettingsError(f"{name} = {getattr(self, name)}", mend="use a multiple of 32")
        _check_range("max_detections", self.max_detections, 1, 10_000)
        _check_range("nms_candidates", self.nms_candidates, self.max_detections, 100_000)
        _check_range("batch", self.batch, 1, 1024)
        if self.proposals is not None:
            _check_range("proposals", self.proposals, 1, 100_000)
        _check_range("score_floor", self.score_floor, 0.0, 1.0)
        _check_range("nms_iou", self.nms_iou, 0.0, 1.0)
        for name in ("mean_rgb", "std_rgb"):
            if len(getattr(self, name)) != 3:
                raise SettingsError(f"{name} has {len(getattr(self, name))} numbers", mend="give three, for R, G and B")
        if min(self.std_rgb) <= 0:
            raise SettingsError(f"std_rgb = {list(self.std_rgb)}", mend="use numbers above 0")
        if len(set(self.classes)) < len(self.classes):
            raise SettingsError(f"classes = {list(self.classes)}", mend="name every class once")


def read_recipe(path: Path) -> Recipe:
    """Read a recipe.

    Raises:
        SettingsError: no such file, no TOML, unknown or missing keys, values of a wrong type or out of range.
    """
    return read_settings(path, Recipe)


def recipe_folders() -> tuple[Path, ...]:
    """Where recipes are looked up by name: the working folder's `export/`, then those that came with edgekit."""
    return (Path("export"), templates_root() / "export")


def find_recipe(name_or_path: str) -> Path:
    """The file of a recipe that is given by its path or by its name (`yolo11`).

    Raises:
        SettingsError: there is none; the names that exist are given.
    """
    path = Path(name_or_path)
    if path.is_file():
        return path
    folders = recipe_folders()
    if path.name == name_or_path:
        for folder in folders:
            candidate = folder / (path.name.removesuffix(SUFFIX) + SUFFIX)
            if candidate.is_file():
                return candidate
    names = sorted({found.stem for folder in folders if folder.is_dir() for found in folder.glob(f"*{SUFFIX}")})
    raise SettingsError(
        f"no recipe {name_or_path!r}", mend=f"give a file, or one of: {', '.join(names) or 'none found'}"
    )


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise SettingsError(f"{name} = {value!r}", mend=f"use one of: {', '.join(choices)}")


def _check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise SettingsError(f"{name} = {value}", mend=f"use a number from {low} to {high}")
