"""The strip as the camera of a made row saw it, laid out like the panorama."""

from dataclasses import replace

import cv2
import numpy as np
from made_case import Result

from edgekit.contracts import Image
from edgekit.runtime.mosaic.settings import MosaicSettings
from edgekit.runtime.mosaic.track import DriftBound
from edgekit.runtime.rowmaker.look import Lens

CHUNK_PX = 4000
MARGIN_PX = 8


def seen_strip(result: Result) -> Image:
    """The strip read at the measured positions, so that both are cut into the same tiles.

    Half a pixel, or a tile that begins elsewhere, is enough for a model to change its mind about a fruit in thirty
    (`count.py`, controls); how right the positions are is what `photo_rows.py` tells. Layers that move with the row lie
    over it; what no frame showed is black; a column has the roll, the gain, the vignetting and the dirt of the frame
    that showed it in its middle, and noise of the same strength.
    """
    strip = result.strip
    for layer in result.case.layers(strip):
        strip = layer.laid_over(strip, (0.0, 0.0))
    frames, left, drawn_y = _placed_frames(result)
    light, gain = _light(result), _gain(result, frames)
    noise, rng = result.case.look.noise, np.random.default_rng(5)
    parts = []
    for start in range(0, result.built.image.shape[1], CHUNK_PX):
        columns = np.arange(start, min(start + CHUNK_PX, result.built.image.shape[1]))
        shown_by = np.clip(np.searchsorted(left + result.size_wh[0] / 2, columns), 0, len(frames) - 1)
        across, down, seen = _places(result, (frames, left, drawn_y), (columns, shown_by))
        lit = _read(strip, across, down) * (light[:, None] * gain[shown_by])[:, :, None]
        if noise:
            lit += noise * rng.standard_normal(lit.shape, dtype=np.float32)
        parts.append(np.asarray(np.clip(np.rint(lit * seen[:, :, None]), 0, 255), np.uint8))
    return np.concatenate(parts, axis=1)


def _places(
    result: Result, placed: tuple[np.ndarray, np.ndarray, np.ndarray], asked: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Strip column and row of each panorama pixel of some columns, and whether the frame reached so far: H x N each."""
    (frames, left, drawn_y), (columns, shown_by) = placed, asked
    path, (width, height) = result.camera.path, result.size_wh
    shown = frames[shown_by]
    row = np.arange(height)[:, None] - drawn_y[shown_by]
    right, below = columns - left[shown_by] - (width - 1) / 2, row - (height - 1) / 2
    cos, sin = np.cos(np.radians(path.roll_deg[shown])), np.sin(np.radians(path.roll_deg[shown]))
    across = cos * right + sin * below + (width - 1) / 2 + path.x_px[shown]
    down = cos * below - sin * right + (height - 1) / 2 + path.y_px[shown] + result.camera.top_px
    seen = (row >= 0) & (row <= height - 1)
    return across, down, seen


def _read(strip: Image, across: np.ndarray, down: np.ndarray) -> np.ndarray:
    """The strip at sub-pixel places; only the part about them is handed on, since OpenCV's maps end at 32,767 px."""
    first = max(int(across.min()) - MARGIN_PX, 0)
    near = strip[:, first : int(across.max()) + MARGIN_PX]
    places = (across - first).astype(np.float32), down.astype(np.float32)
    return cv2.remap(near, *places, cv2.INTER_LANCZOS4, borderMode=cv2.BORDER_REPLICATE)


def _placed_frames(result: Result) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number of the picture, left edge and height in the panorama of the frames, from left to right."""
    used = [record for record in result.built.records if record.x_px is not None and record.status != "reversed"]
    bound = DriftBound(MosaicSettings().drift_share * result.size_wh[1])
    drawn_y = np.array([bound.correct(record.y_px or 0.0) for record in used])
    left = np.array([record.x_px for record in used], np.float64) - result.built.origin_px
    order = np.argsort(left, kind="stable")
    frames = result.camera.path.shows[[record.frame for record in used]]
    return frames[order], left[order], drawn_y[order]


def _light(result: Result) -> np.ndarray:
    """Share of the light that vignetting and dirt leave to each row in the frame's middle, where strips are cut."""
    width, height = result.size_wh
    lens = Lens(replace(result.case.look, exposure=(), noise=0.0), result.size_wh)
    white = np.full((height, width, 3), 255, np.uint8)
    return lens.see(white, 0)[:, width // 2, 0].astype(np.float32) / 255


def _gain(result: Result, frames: np.ndarray) -> np.ndarray:
    lens = Lens(result.case.look, result.size_wh)
    return np.array([lens.gain(int(number)) for number in frames], np.float32)
