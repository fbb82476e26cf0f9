"""What a person may set about a run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from edgekit.errors import SettingsError
from edgekit.runtime.encoder.settings import EncoderSettings
from edgekit.runtime.markers.settings import MarkerSettings
from edgekit.runtime.mosaic.settings import MosaicSettings
from edgekit.runtime.panorama.segments import WIDEST_SEGMENT_PX
from edgekit.tiles import MergeSettings, TileSettings


@dataclass(frozen=True)
class SegmentSettings:
    """How the panorama is kept on disk.

    Raises:
        SettingsError: a value that cannot be used.
    """

    width_px: int = 4096
    """Columns per segment."""
    kind: str = "jpg"
    """jpg (quality 95) or png (exact). Tiles are cut before the panorama is written, so the count is the same with
    both. A panorama of 3 megapixels takes 30 ms and 1.2 MB as jpg, 300 ms and 4.7 MB as png
    (python bench/run/segment_cost.py PICTURE)."""

    def __post_init__(self) -> None:
        if self.kind not in ("jpg", "png"):
            raise SettingsError(f"segments.kind is {self.kind!r}", mend="choose jpg or png")
        if not 16 <= self.width_px <= WIDEST_SEGMENT_PX:
            raise SettingsError(f"segments.width_px is {self.width_px}", mend=f"give 16 to {WIDEST_SEGMENT_PX}")


@dataclass(frozen=True)
class RunSettings:
    """Everything but the model and the threshold that decides what a run gives.

    Raises:
        SettingsError: a value that cannot be used.
    """

    tiles: TileSettings = field(default_factory=TileSettings)
    merge: MergeSettings = field(default_factory=MergeSettings)
    panorama: MosaicSettings = field(default_factory=MosaicSettings)
    segments: SegmentSettings = field(default_factory=SegmentSettings)
    px_per_metre: float | None = None
    """Scale of the panorama; None where nobody measured it: then there is no fruit per metre."""
    encoder: EncoderSettings = field(default_factory=EncoderSettings)
    markers: MarkerSettings = field(default_factory=MarkerSettings)
    camera: str = ""
    """Description (TOML) of the camera that recorded the rows: its mounting, lens, roll, flat field, travel and scale
    apply. Empty: the recordings are upright and straight. A camera as the source brings its own."""
    rate_hz: float | None = None
    """Frames a second of folders of pictures; a video brings its own times. None: that of `camera`, else 30."""

    def __post_init__(self) -> None:
        if self.px_per_metre is not None and not 0 < self.px_per_metre < float("inf"):
            raise SettingsError(f"px_per_metre is {self.px_per_metre}", mend="give a number above 0, or leave it out")
        if self.rate_hz is not None and not 0 < self.rate_hz < float("inf"):
            raise SettingsError(f"rate_hz is {self.rate_hz}", mend="give frames a second, above 0, or leave it out")

    def with_tile_size(self, size_px: int) -> RunSettings:
        """The same settings for a model of another tile size.

        Raises:
            SettingsError: the overlap does not fit such tiles.
        """
        return replace(self, tiles=replace(self.tiles, size_px=size_px))

    def seen_by(self, *, camera: Path | None, encoder: Path | None) -> RunSettings:
        """The same settings with another camera or encoder, where one is named."""
        settings = self if camera is None else replace(self, camera=str(camera))
        if encoder is None:
            return settings
        return replace(settings, encoder=replace(self.encoder, file=str(encoder)))

    def nested(self) -> dict[str, Any]:
        """Plain types for TOML: a table for each group; what is not set is left out."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return {name: _set_values(value) for name, value in plain.items() if value is not None}

    def flat(self) -> dict[str, Any]:
        """Plain JSON types, one level: `tiles.overlap_px` and so on."""
        entries: dict[str, Any] = {}
        for name, value in self.nested().items():
            entries |= (
                {f"{name}.{key}": item for key, item in value.items()} if isinstance(value, dict) else {name: value}
            )
        return entries


def _set_values(value: Any) -> Any:
    """A table without the keys that are not set: TOML knows no null."""
    return {key: item for key, item in value.items() if item is not None} if isinstance(value, dict) else value
