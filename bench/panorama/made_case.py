"""One made row, run: the camera slides, the panorama is built, and both are compared."""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

import cv2
import numpy as np
from faults import Case

from edgekit.contracts import Columns, Frame, Image
from edgekit.labels import read_coco
from edgekit.runtime.mosaic.mosaic import StripMosaic
from edgekit.runtime.mosaic.settings import MosaicSettings
from edgekit.runtime.records import FrameRecord
from edgekit.runtime.rowmaker import SlidingCamera, load_photo_row

EDGE_PX = 30
WINDOW = 100
ROOM_PX = 80
"""By how much the strip is higher than a frame: drift and jitter move the camera up and down in it."""


def long_strip(labels: Path, images: Path, *, height_px: int, length_px: int, start: int = 0) -> Image:
    """Labelled pictures side by side from the one numbered `start` on, at least so long; a set that is too small is
    gone through again, mirrored."""
    label_set = read_coco(labels)
    pictures = (*label_set.pictures[start:], *label_set.pictures[:start])
    wide = [picture.size_wh[0] * height_px // picture.size_wh[1] for picture in pictures]
    enough = int(np.searchsorted(np.cumsum(wide), length_px)) + 1
    names = [picture.name for picture in pictures[:enough]]
    once = load_photo_row(label_set, images, names=names, height_px=height_px).image
    times = -(-length_px // once.shape[1])
    return np.concatenate([once[:, :: -1 if number % 2 else 1] for number in range(times)], axis=1)


@dataclass(frozen=True, eq=False)
class Built:
    """What the mosaic made of a row."""

    image: Image
    origin_px: int
    """Of the panorama's left edge, in the coordinates of the records."""
    bridged_px: int
    seconds: float
    """Of the process, for the mosaic alone."""
    records: tuple[FrameRecord, ...]

    @classmethod
    def from_frames(cls, frames: Iterable[Frame], settings: MosaicSettings) -> "Built":
        mosaic = StripMosaic(settings)
        columns: list[Columns] = []
        records: list[FrameRecord] = []
        seconds = 0.0
        for frame in frames:
            start = time.process_time()
            columns += mosaic.add(frame)
            records += mosaic.drain_records()
            seconds += time.process_time() - start
        columns += mosaic.finish()
        bridged_px = sum(part.image.shape[1] for part in columns if part.bridged)
        image = np.concatenate([part.image for part in columns][:: mosaic.direction], axis=1)
        return cls(image, mosaic.origin_px, bridged_px, seconds, tuple(records))


class Result:
    """One case: its camera, what became of the frames, and the panorama."""

    def __init__(self, case: Case, strip: Image, size_wh: tuple[int, int]) -> None:
        self.case, self.strip, self.size_wh = case, strip, size_wh
        self.camera = SlidingCamera(strip, case.motion, size_wh=size_wh, look=case.look, layers=case.layers(strip))

    @cached_property
    def built(self) -> Built:
        return Built.from_frames(self.camera, self.case.mosaic)

    def figures(self) -> dict[str, object]:
        """Errors of the positions, PSNR where the row is clean, and what became of the frames."""
        records = self.built.records
        used = [record for record in records if record.x_px is not None]
        shown = self.camera.path.shows[[record.frame for record in used]]
        true_x, true_y = self.camera.path.x_px[shown], self.camera.path.y_px[shown]
        x_px, y_px = (np.array([getattr(record, name) for record in used]) for name in ("x_px", "y_px"))
        error = x_px - (true_x - true_x[0])
        sure = np.array([record.status != "bridged" for record in used])
        stretches = [[number for number, _ in part] for own, part in groupby(enumerate(sure), lambda p: p[1]) if own]
        length = float(np.ptp(true_x))
        windows = [error[i : i + WINDOW].std() for i in range(0, max(len(error) - WINDOW, 1), WINDOW // 4)]
        clean = self.case.name == "clean"
        measured, true = self._psnr(x_px[sure], true_x[sure]) if clean else (None, None)
        return {
            "length_px": round(length), "end_percent": round(100 * abs(float(error[-1])) / length, 4),
            "largest_percent": round(100 * float(np.abs(error[sure]).max()) / length, 4),
            "rest_percent": round(100 * max(float(np.ptp(error[part])) for part in stretches) / length, 4),
            "bridged_px": self.built.bridged_px, "rms100_px": round(float(max(windows)), 3),
            "vertical_px": round(float(np.abs(y_px - (true_y - true_y[0]))[sure].max()), 2),
            "psnr_measured_db": measured, "psnr_true_db": true,
            "statuses": dict(Counter(record.status for record in records)),
            "ms_a_frame": round(1000 * self.built.seconds / len(records), 1),
        }  # fmt: skip

    def _psnr(self, x_px: np.ndarray, true_x: np.ndarray) -> tuple[float, float]:
        """Against the strip read where the panorama says its columns lie, and where they lie in truth."""
        columns = np.arange(self.built.image.shape[1])
        left = x_px - self.built.origin_px
        order = np.argsort(left, kind="stable")
        measured = np.interp(columns, left[order] + self.size_wh[0] / 2, (true_x - left)[order])
        true = np.full(len(columns), true_x[0] - left[0])
        return self._against(columns + measured), self._against(columns + true)

    def _against(self, x_px: np.ndarray) -> float:
        image = self.built.image
        rows = (np.arange(image.shape[0]) + self.camera.top_px + self.camera.path.y_px[0]).astype(np.float32)
        square, count = 0.0, 0
        for start in range(EDGE_PX, len(x_px) - EDGE_PX, 4000):
            part = x_px[start : min(start + 4000, len(x_px) - EDGE_PX)]
            first = int(part.min()) - 8
            grid = np.meshgrid((part - max(first, 0)).astype(np.float32), rows)
            near = self.strip[:, max(first, 0) : max(first, 0) + 12000]
            read = cv2.remap(near, *grid, cv2.INTER_LANCZOS4)[EDGE_PX:-EDGE_PX]
            error = image[EDGE_PX:-EDGE_PX, start : start + len(part)].astype(np.float32) - read
            square, count = square + float((error**2).sum()), count + error.size
        return round(10 * float(np.log10(255**2 / max(square / count, 1e-9))), 2)
