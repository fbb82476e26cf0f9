"""The strip as the camera of a made row saw it, laid out like the panorama."""

from dataclasses import replace

import numpy as np
from faults import Case
from made_case import Result

from edgekit.contracts import Image
from edgekit.runtime.mosaic.settings import MosaicSettings
from edgekit.runtime.mosaic.track import DriftBound
from edgekit.runtime.rowmaker.look import Lens


def seen_strip(case: Case, result: Result) -> Image:
    """The strip with whole columns moved to where the panorama shows them, so that both are cut into the same tiles.

    Nothing is resampled: the panorama's positions are off by a few pixels over a row, so now and then a column is left
    out or comes twice. Layers that move with the row lie over it; what no frame showed is black; a column has the gain
    and the vignetting of the frame that showed it in its middle, and noise of the same strength.
    """
    camera, (width, height) = result.camera, result.size_wh
    strip = result.strip
    for layer in case.layers(strip):
        strip = layer.laid_over(strip, (0.0, 0.0))
    columns = np.arange(result.image.shape[1])
    frames, left, drawn_y = _placed_frames(result)
    right_px = camera.path.x_px[frames] - left
    down_px = camera.path.y_px[frames] - drawn_y
    x, y = (np.rint(np.interp(columns, left + width / 2, move)).astype(int) for move in (right_px, down_px))
    shown_by = np.clip(np.searchsorted(left + width / 2, columns), 0, len(frames) - 1)
    rows = np.arange(height)[:, None]
    across = np.clip(columns + x, 0, strip.shape[1] - 1)
    down = np.clip(rows + y + round(camera.top_px), 0, strip.shape[0] - 1)
    seen = (rows >= drawn_y[shown_by]) & (rows < drawn_y[shown_by] + height)
    lit = strip[down, across] * (_light(case, result)[:, None] * _gain(case, frames[shown_by], result))[:, :, None]
    if case.look.noise:
        lit += case.look.noise * np.random.default_rng(5).standard_normal(lit.shape, dtype=np.float32)
    return np.asarray(np.clip(np.rint(lit * seen[:, :, None]), 0, 255), np.uint8)


def _placed_frames(result: Result) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number of the picture, left edge and height in the panorama of the frames, from left to right."""
    used = [record for record in result.records if record.x_px is not None and record.status != "reversed"]
    bound = DriftBound(MosaicSettings().drift_share * result.size_wh[1])
    drawn_y = np.array([bound.correct(record.y_px or 0.0) for record in used])
    left = np.array([record.x_px for record in used], np.float64) - result.origin_px
    order = np.argsort(left, kind="stable")
    frames = result.camera.path.shows[[record.frame for record in used]]
    return frames[order], left[order], drawn_y[order]


def _light(case: Case, result: Result) -> np.ndarray:
    """Vignetting of the rows in the frame's middle, where strips are cut."""
    width, height = result.size_wh
    vignetting = replace(case.look, exposure=(), noise=0.0, dirt=0)
    white = np.full((height, width, 3), 255, np.uint8)
    return Lens(vignetting, result.size_wh).see(white, 0)[:, width // 2, 0].astype(np.float32) / 255


def _gain(case: Case, frames: np.ndarray, result: Result) -> np.ndarray:
    lens = Lens(case.look, result.size_wh)
    return np.array([lens.gain(int(number)) for number in frames], np.float32)
