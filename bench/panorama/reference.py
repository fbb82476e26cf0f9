"""The strip as the camera of a made row saw it, and the way from the panorama back to the strip."""

from dataclasses import replace

import numpy as np
from faults import Case
from made_case import Result

from edgekit.contracts import Image, Instances
from edgekit.runtime.mosaic.settings import MosaicSettings
from edgekit.runtime.mosaic.track import DriftBound
from edgekit.runtime.rowmaker.look import Lens


def seen_strip(case: Case, result: Result) -> Image:
    """The strip from the first frame to the last, with the layers that move with it.

    What no frame showed is black; a column has the gain and the vignetting of the frame that showed it in its middle.
    """
    camera, (width, height) = result.camera, result.size_wh
    path, top = camera.path, round(camera.top_px)
    start = round(float(path.x_px.min()))
    stop = round(float(path.x_px.max())) + width
    strip = result.strip[top : top + height, start:stop]
    for layer in case.layers(result.strip):
        strip = layer.laid_over(strip, (start, top))
    order = np.argsort(path.x_px, kind="stable")
    middles = path.x_px[order] - start + width / 2
    shown_by = order[np.clip(np.searchsorted(middles, np.arange(stop - start)), 0, len(order) - 1)]
    rows = np.arange(height)[:, None]
    seen = (rows >= path.y_px[shown_by]) & (rows < path.y_px[shown_by] + height)
    dark = replace(case.look, exposure=(), noise=0.0, dirt=0)
    light = Lens(dark, result.size_wh).see(np.full((height, width, 3), 255, np.uint8), 0)[:, width // 2, :1] / 255
    lens = Lens(case.look, result.size_wh)
    gain = np.array([lens.gain(int(number)) for number in range(len(path.x_px))], np.float32)[shown_by]
    lit = strip * (light * gain).astype(np.float32)[:, :, None]
    if case.look.noise:
        lit += case.look.noise * np.random.default_rng(5).standard_normal(lit.shape, dtype=np.float32)
    return np.asarray(np.clip(np.rint(lit * seen[:, :, None]), 0, 255), np.uint8)


def in_the_strip(found: Instances, result: Result) -> Instances:
    """Fruit of the panorama, moved to where `seen_strip` shows them by what is known of their frames."""
    path, height = result.camera.path, result.size_wh[1]
    used = [record for record in result.records if record.x_px is not None and record.status != "reversed"]
    shown = path.shows[[record.frame for record in used]]
    bound = DriftBound(MosaicSettings().drift_share * height)
    left = np.array([record.x_px for record in used], np.float64) - result.origin_px
    drawn = np.array([bound.correct(record.y_px or 0.0) for record in used])
    right_px = path.x_px[shown] - path.x_px.min() - left
    down_px = path.y_px[shown] - drawn
    order = np.argsort(left, kind="stable")
    middles = found.boxes_xyxy[:, ::2].mean(axis=1) - result.size_wh[0] / 2
    dx, dy = (np.rint(np.interp(middles, left[order], move[order])).astype(int) for move in (right_px, down_px))
    moves = np.column_stack((dx, dy, dx, dy)).astype(np.float32)
    masks = tuple(mask.shifted(int(x), int(y)) for mask, x, y in zip(found.masks, dx, dy, strict=True))
    return Instances(found.boxes_xyxy + moves, found.scores, found.labels, masks)
