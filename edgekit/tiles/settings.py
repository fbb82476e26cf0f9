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

    Raises:
        SettingsError: a value that cannot be used.
    """

    min_agreement: float = 0.5
    """Detections of neighbouring tiles are one fruit from this mask IoU on, taken in the strip that both tiles see."""
    min_containment: float = 0.7
    """The same for a piece that its tile's border cuts: share of the smaller mask that lies in the other."""
    similar_score: float = 0.5
    """Pieces whose score is at least this share of the fruit's best score are similar: a complete one among them beats
    those that are cut, and only they take part in joining."""
    border_px: int = 2
    """A mask that comes this close to an inner border of its tile counts as cut by it."""
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
