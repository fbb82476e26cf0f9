"""Settings of cutting and of merging."""

from __future__ import annotations

from dataclasses import dataclass

from edgekit.errors import SettingsError


@dataclass(frozen=True)
class TileSettings:
    """How a panorama is cut.

    Raises:
        SettingsError: a value that cannot be used.
    """

    size_px: int = 512
    """S: tiles are S x S. The model's `tile_size_px`."""
    overlap_px: int = 96
    """Width of the strip that two neighbouring tiles both see. Fruit smaller than this are seen whole by some tile."""

    def __post_init__(self) -> None:
        _require_whole("size_px", self.size_px, 1, None)
        _require_whole("overlap_px", self.overlap_px, 0, self.size_px - 1)

    @property
    def stride_px(self) -> int:
        """Distance from one tile to the next."""
        return self.size_px - self.overlap_px


@dataclass(frozen=True)
class MergeSettings:
    """How the detections of neighbouring tiles become fruit.

    The defaults come from 37 photographs of tomato plants with 448 labelled fruit, whose grid was moved by 64, 128 and
    256 px (python bench/merge/invariance.py --data SET SET --model M.onnx --scan). They matter little: within the
    ranges that are given, mask F1 stays within 0.01.

    Raises:
        SettingsError: a value that cannot be used.
    """

    min_agreement: float = 0.5
    """Detections of neighbouring tiles are one fruit from this mask IoU on, taken in the strip that both tiles see.
    From 0.35 to 0.65 the count is the same."""
    min_containment: float = 0.5
    """The same for masks of unequal size: share of the smaller one that lies in the other. 0.5 counts most steadily
    (total within 0.7 %, with 0.7 within 1.5 %), since what a tile sees at its border is ragged."""
    similar_score: float = 0.5
    """Pieces whose score is at least this share of the fruit's best score are similar: a whole one among them beats
    those that are cut, and only they take part in joining. At 0.2 weak pieces take strong ones away, at 0.8 too few are
    joined: both count less steadily."""
    border_px: int = 1
    """A mask that comes this close to an inner border of its tile counts as cut by it; 1: it touches the border. Wider
    margins (4 px, 8 px) count no more steadily."""
    across_classes: bool = True
    """Whether detections of different classes may be one fruit; it then has the class of the detection that is kept."""

    def __post_init__(self) -> None:
        for name in ("min_agreement", "min_containment", "similar_score"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
                raise SettingsError(f"{name} is {value!r}", mend="give a number above 0, at most 1")
        _require_whole("border_px", self.border_px, 1, None)
        if not isinstance(self.across_classes, bool):
            raise SettingsError(f"across_classes is {self.across_classes!r}", mend="give true or false")


def _require_whole(name: str, value: object, low: int, high: int | None) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < low or (high is not None and value > high):
        wanted = f"at least {low}" if high is None else f"from {low} to {high}"
        raise SettingsError(f"{name} is {value!r}", mend=f"give a whole number {wanted}")
