"""Small made rows for the tests of displacement and mosaic."""

from __future__ import annotations

from collections.abc import Iterable

import cv2
import numpy as np

from edgekit.contracts import Columns, Frame
from edgekit.runtime.mosaic.mosaic import StripMosaic
from edgekit.runtime.mosaic.settings import MosaicSettings
from edgekit.runtime.records import FrameRecord

SIZE_WH = (320, 160)
"""Frames a sixteenth of the real ones, so that a test takes a second."""


def made_strip(width: int, height: int = 184, seed: int = 0) -> np.ndarray:
    """Something like leaves: noise at three scales."""
    rng = np.random.default_rng(seed)
    strip = np.zeros((height, width, 3), np.float32)
    for sigma, weight in ((1.2, 1.0), (3.0, 2.0), (8.0, 4.0)):
        noise = rng.standard_normal((height, width, 3), dtype=np.float32)
        strip += weight * cv2.GaussianBlur(noise, (0, 0), sigma) * sigma
    strip = 110 + 45 * (strip - strip.mean()) / strip.std()
    return np.clip(strip, 5, 250).astype(np.uint8)


class Built:
    """A panorama with what the builder told."""

    def __init__(self, frames: Iterable[Frame], settings: MosaicSettings | None = None) -> None:
        self.mosaic = StripMosaic(settings or MosaicSettings())
        self.columns: list[Columns] = []
        for frame in frames:
            self.columns += self.mosaic.add(frame)
        self.columns += self.mosaic.finish()
        self.records: list[FrameRecord] = self.mosaic.drain_records()
        self.direction = self.mosaic.direction
        ordered = self.columns[:: self.direction]
        self.image = np.concatenate([part.image for part in ordered], axis=1)

    def statuses(self) -> list[str]:
        return [record.status for record in self.records]

    def positions(self) -> dict[int, float]:
        """Frame number -> measured position of its left edge, from the first frame's."""
        return {record.frame: record.x_px for record in self.records if record.x_px is not None}

    def errors_px(self, true_x_px: np.ndarray) -> dict[int, float]:
        """Frame number -> error of its position."""
        return {n: x - (true_x_px[n] - true_x_px[0]) for n, x in self.positions().items()}
