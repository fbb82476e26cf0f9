"""The strip as the camera of a made row saw it, laid out like the panorama."""

from typing import NamedTuple

import cv2
import numpy as np
from made_case import Result

from edgekit.contracts import Image
from edgekit.runtime.mosaic.settings import MosaicSettings
from edgekit.runtime.mosaic.track import DriftBound
from edgekit.runtime.rowmaker.look import Lens

MARGIN_PX = 8
BLIND_SHARE = 0.35
"""Of the width, as in the mosaic: frames at predicted positions are drawn once they lie so far apart."""


class Drawn(NamedTuple):
    """A frame of the panorama."""

    number: int
    """Of the picture that it showed."""
    left_px: float
    top_px: float


def seen_strip(result: Result) -> Image:
    """The strip read at the measured positions, so that both are cut into the same tiles.

    Half a pixel, or a tile that begins elsewhere, is enough for a model to change its mind about a fruit in thirty
    (`count.py`, controls); how right the positions are is what `photo_rows.py` tells. Cuts are straight and lie half
    way between frames. Layers that move with the row lie over it; gain, vignetting, dirt and noise are those of the
    frame to which a column belongs; what no frame showed is black.
    """
    lens = Lens(result.case.look, result.size_wh)
    frames = _drawn_frames(result)
    middles = np.array([frame.left_px for frame in frames]) + result.size_wh[0] / 2
    between = np.rint((middles[1:] + middles[:-1]) / 2).astype(int).tolist()
    cuts = [0, *between, result.built.image.shape[1]]
    spans = zip(frames, cuts[:-1], cuts[1:], strict=True)
    parts = [_seen(result, lens, frame, np.arange(start, stop)) for frame, start, stop in spans if start < stop]
    return np.concatenate(parts, axis=1)


def _seen(result: Result, lens: Lens, frame: Drawn, columns: np.ndarray) -> Image:
    """Some columns of the panorama as one frame saw them."""
    width, height = result.size_wh
    across, down, inside = _places(result, frame, columns)
    image = _read(result.strip, across, down)
    for layer in result.case.layers(result.strip):
        image = layer.laid_over(image, (float(across[height // 2, 0]), 0.0))
    first = min(max(round(columns[0] - frame.left_px), 0), width - len(columns))
    lowered = round(frame.top_px)
    whole = np.zeros((height, width, 3), np.uint8)
    whole[:, first : first + len(columns)] = np.roll(image, -lowered, axis=0)
    seen = lens.see(whole, frame.number)[:, first : first + len(columns)]
    return np.asarray(np.roll(seen, lowered, axis=0) * inside[:, :, None], np.uint8)


def _places(result: Result, frame: Drawn, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Strip column and row of each panorama pixel of some columns, and whether the frame reached so far: H x N each."""
    path, (width, height) = result.camera.path, result.size_wh
    row = np.arange(height)[:, None] - frame.top_px + np.zeros(len(columns))
    right, below = columns - frame.left_px - (width - 1) / 2, row - (height - 1) / 2
    roll = np.radians(path.roll_deg[frame.number])
    x_px, y_px = path.x_px[frame.number], path.y_px[frame.number] + result.camera.top_px
    across = np.cos(roll) * right + np.sin(roll) * below + (width - 1) / 2 + x_px
    down = np.cos(roll) * below - np.sin(roll) * right + (height - 1) / 2 + y_px
    return across, down, (row >= 0) & (row <= height - 1)


def _read(strip: Image, across: np.ndarray, down: np.ndarray) -> Image:
    """The strip at sub-pixel places; only the part about them is handed on, since OpenCV's maps end at 32,767 px."""
    first = max(int(across.min()) - MARGIN_PX, 0)
    near = strip[:, first : int(across.max()) + MARGIN_PX]
    places = (across - first).astype(np.float32), down.astype(np.float32)
    return np.asarray(cv2.remap(near, *places, cv2.INTER_LANCZOS4, borderMode=cv2.BORDER_REPLICATE), np.uint8)


def _drawn_frames(result: Result) -> list[Drawn]:
    """The frames of which the panorama consists, from left to right, by the mosaic's rule: those that lie far enough
    beyond the one before."""
    settings, width = result.case.mosaic, result.size_wh[0]
    bound = DriftBound(MosaicSettings().drift_share * result.size_wh[1])
    drawn: list[Drawn] = []
    furthest: Drawn | None = None
    for record in result.built.records:
        if record.x_px is None:
            continue
        left_px, top_px = record.x_px - result.built.origin_px, bound.correct(record.y_px or 0.0)
        frame = Drawn(int(result.camera.path.shows[record.frame]), left_px, top_px)
        least_px = BLIND_SHARE * width if record.status == "bridged" else settings.strip_px
        if not drawn or left_px - drawn[-1].left_px >= least_px:
            drawn.append(frame)
        furthest = frame if furthest is None or left_px > furthest.left_px else furthest
    assert furthest is not None
    return [*drawn, furthest] if furthest.left_px > drawn[-1].left_px else drawn
