"""A greenhouse that is known exactly: magenta discs on leaves, and a model that sees magenta."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
from scipy import ndimage

from edgekit.contracts import Choice, Image, Instances, MaskCrop, ModelInfo, ResultFlag, TileResult
from edgekit.masks import bounds_xyxy
from edgekit.runtime.job import Job
from edgekit.runtime.row_source import plan_sources
from edgekit.runtime.settings import RunSettings
from edgekit.tiles import TileSettings

TILE_PX = 128
Disc = tuple[int, int, int]
"""x, y, radius in pixels."""


def leaves(size_wh: tuple[int, int], seed: int = 1) -> Image:
    """Green texture in which every place looks different."""
    noise = np.random.default_rng(seed).normal(size=(size_wh[1], size_wh[0]))
    soft = ndimage.gaussian_filter(noise, 2.0)
    green = np.clip(110 + 60 * soft / (soft.std() or 1), 30, 220).astype(np.uint8)
    return np.stack([green // 3, green, green // 4], axis=2)


def strip(size_wh: tuple[int, int], discs: Sequence[Disc], *, brightness: Sequence[int] = ()) -> Image:
    """Leaves with discs; the red of a disc (default 230) is its score x 255."""
    image = leaves(size_wh)
    for number, (x, y, radius) in enumerate(discs):
        red = brightness[number] if brightness else 230
        cv2.circle(image, (x, y), radius, (red, 0, 255), -1)
    return image


def spread(count: int, size_wh: tuple[int, int], seed: int = 5) -> list[Disc]:
    """Discs that do not touch, smaller than the overlap of the tiles."""
    rng = np.random.default_rng(seed)
    discs: list[Disc] = []
    while len(discs) < count:
        x, y, radius = (int(v) for v in (rng.integers(16, size_wh[0] - 16), rng.integers(16, size_wh[1] - 16), 8))
        if all((x - a) ** 2 + (y - b) ** 2 > 24**2 for a, b, _ in discs):
            discs.append((x, y, radius))
    return sorted(discs)


def write_png(path: Path, image: Image) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    assert cv2.imwrite(str(path), cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
    return path


def write_frames(folder: Path, scene: Image, *, step_px: int, width_px: int) -> Path:
    """Frames of a camera that slides to the right over the scene, or to the left where the step is negative."""
    places = list(range(0, scene.shape[1] - width_px + 1, abs(step_px)))
    for number, x in enumerate(places if step_px > 0 else places[::-1]):
        write_png(folder / f"frame_{number:04d}.png", scene[:, x : x + width_px])
    return folder


def model_info(**changes: object) -> ModelInfo:
    values: dict[str, object] = {
        "contract_version": 1, "model": "yolo11", "class_names": ("fruit",), "tile_size_px": TILE_PX,
        "inner_size_px": TILE_PX, "batch": 1, "max_detections": 100, "proposals": None, "mask_frame": "tile",
        "mask_size_px": 32, "score_floor": 0.05, "nms_iou": 0.7, "precision": "fp32", "weights_digest": "0" * 64,
        "weights_licence": "none", "exporter": {},
    }  # fmt: skip
    return ModelInfo(**{**values, **changes})  # type: ignore[arg-type]


class MagentaSegmenter:
    """Finds every magenta blob of a tile; can be made slow, limited, or to fail after some tiles."""

    def __init__(self, *, fail_after: int | None = None, pause_s: float = 0.0, limited: bool = False, **info: object):
        self.info = model_info(**info)
        self.provider = Choice("cpu", "cpu", "stub")
        self.seen = 0
        self._fail_after = fail_after
        self._pause_s = pause_s
        self._limited = limited

    def segment(self, tiles: np.ndarray) -> list[TileResult]:
        results = []
        for tile in tiles:
            if self._fail_after is not None and self.seen >= self._fail_after:
                raise KeyboardInterrupt
            time.sleep(self._pause_s)
            self.seen += 1
            found = find_magenta(tile)
            flags = ResultFlag.PROPOSALS_CUT if self._limited else ResultFlag(0)
            results.append(TileResult(found, len(found) + int(self._limited), flags))
        return results

    def close(self) -> None:
        pass


def find_magenta(tile: Image) -> Instances:
    red, green, blue = (tile[:, :, c].astype(np.int16) for c in range(3))
    numbered, count = ndimage.label((red > 20) & (green < 40) & (blue > 180))
    masks, scores = [], []
    for number, place in enumerate(ndimage.find_objects(numbered), 1):
        rows, columns = place
        plane = numbered[place] == number
        masks.append(MaskCrop(plane, columns.start, rows.start))
        scores.append(float(red[place][plane].mean()) / 255)
    if not count:
        return Instances.empty()
    order = np.argsort(-np.array(scores), kind="stable")
    boxes = np.stack([bounds_xyxy(mask) for mask in masks])
    found = Instances(boxes, np.array(scores, np.float32), np.zeros(count, np.int32), tuple(masks))
    return found.select(order)


def settings(**changes: object) -> RunSettings:
    return RunSettings(tiles=TileSettings(size_px=TILE_PX, overlap_px=40), **changes)  # type: ignore[arg-type]


def job(*paths: Path, panorama: bool = True, threshold: float = 0.5, run_settings: RunSettings | None = None) -> Job:
    plans = plan_sources(paths, panorama=panorama)
    return Job(plans, "stub.onnx", run_settings or settings(), threshold, "option --threshold")


def silent(stage: str, done: int, total: int | None = None) -> None:
    pass
