"""Training tiles: windows cut from pictures, mosaics of them, pasted and recoloured fruit, colour and blur.

Few pictures of peppers exist, so the variety has to come from here: scale, hue (a pepper or a tomato of any ripeness
has the same shape), occlusion and other backgrounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from data import Cutout, Image, Picture, cutouts, fruit_area
from numpy.typing import NDArray
from settings import AugmentSettings, SetSettings, Settings

Rng = np.random.Generator


@dataclass
class Canvas:
    """A tile in the making. image: S x S x 3 uint8 RGB; masks: per fruit S x S uint8, 0 or 1; areas: whole fruit."""

    image: Image
    masks: list[Image]
    areas: list[float]


def _uniform_log(rng: Rng, low: float, high: float) -> float:
    """A number whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _centre(picture: Picture, rng: Rng, half_wh: NDArray[np.float64], focus: float) -> NDArray[np.float64]:
    """Centre (x, y) of a window with half size ``half_wh`` in picture pixels, kept inside the picture where it fits."""
    size = np.array([picture.image.shape[1], picture.image.shape[0]], np.float64)
    if rng.random() < focus:
        points = np.concatenate(picture.fruit[rng.integers(len(picture.fruit))])
        centre = (points.min(0) + points.max(0)) / 2 + rng.uniform(-0.7, 0.7, 2) * half_wh
    else:
        centre = rng.uniform(0, 1, 2) * size
    slack = np.maximum(size - 2 * half_wh, 0)
    low = np.where(slack > 0, half_wh, size / 2)
    return np.asarray(np.clip(centre, low, low + slack), np.float64)


def window_matrix(
    picture: Picture, settings: tuple[SetSettings, AugmentSettings], size_wh: tuple[int, int], rng: Rng
) -> NDArray[np.float64]:
    """2 x 3 affine map from picture pixels to a window of ``size_wh``: scale, flip, stretch, rotation, place."""
    of_set, augment = settings
    scale = min(picture.base * _uniform_log(rng, *of_set.scale), of_set.max_upscale)
    covering = max(size_wh[0] / picture.image.shape[1], size_wh[1] / picture.image.shape[0])
    scale = max(scale, augment.cover * covering)
    stretch = _uniform_log(rng, 1 / (1 + augment.stretch), 1 + augment.stretch)
    angle = np.deg2rad(rng.uniform(-augment.rotate_deg, augment.rotate_deg))
    flip_x, flip_y = (-1 if rng.random() < 0.5 else 1), (-1 if rng.random() < 0.1 else 1)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    linear = turn @ np.diag([flip_x * scale * stretch, flip_y * scale / stretch])
    size = np.array(size_wh, np.float64)
    centre = _centre(picture, rng, size / 2 / scale, augment.focus)
    return np.hstack([linear, (size / 2 - linear @ centre)[:, None]])


def paint_window(canvas: Canvas, picture: Picture, matrix: NDArray[np.float64], cell_xyxy: tuple[int, ...]) -> None:
    """Draw one window and its fruit into the cell (x0, y0, x1, y1) of the canvas; outside is black, as at run time."""
    x0, y0, x1, y1 = cell_xyxy
    if x1 <= x0 or y1 <= y0:
        return
    scale = float(np.sqrt(abs(np.linalg.det(matrix[:, :2]))))
    image, matrix = picture.image, matrix.copy()
    if scale < 0.5:  # warpAffine does not average, so shrink by area first
        image = cv2.resize(image, None, fx=2 * scale, fy=2 * scale, interpolation=cv2.INTER_AREA)  # type: ignore[assignment]
        matrix[:, :2] /= 2 * scale
    warped = cv2.warpAffine(image, matrix, (x1 - x0, y1 - y0), flags=cv2.INTER_LINEAR)
    if scale < 0.5:
        matrix[:, :2] *= 2 * scale
    canvas.image[y0:y1, x0:x1] = warped
    for fruit in picture.fruit:
        moved = [p @ matrix[:, :2].T + matrix[:, 2] for p in fruit]
        points = np.concatenate(moved)
        if (points.max(0) < 0).any() or (points.min(0) >= (x1 - x0, y1 - y0)).any():
            continue
        plane = np.zeros((y1 - y0, x1 - x0), np.uint8)
        cv2.fillPoly(plane, [np.round(p).astype(np.int32) for p in moved], 1)
        mask = np.zeros(canvas.image.shape[:2], np.uint8)
        mask[y0:y1, x0:x1] = plane
        canvas.masks.append(mask)
        canvas.areas.append(fruit_area(fruit) * scale**2)


def recolour(image: Image, mask: Image, rng: Rng) -> Image:
    """``image`` (h x w x 3) with the masked fruit in another hue: red to green, green to orange and so on."""
    hsv = cv2.cvtColor(image, cv2.COLOR_RGB2HSV).astype(np.float32)
    inside = hsv[..., 0][mask > 0]
    reddish = float(np.mean((inside < 25) | (inside > 160))) > 0.5 if inside.size else True
    shift = rng.uniform(8, 50) if reddish else rng.uniform(-48, -8)
    hsv[..., 0] = (hsv[..., 0] + shift) % 180
    hsv[..., 1] *= rng.uniform(0.45, 1.0)
    hsv[..., 2] *= rng.uniform(0.5, 1.1)
    other = cv2.cvtColor(np.clip(hsv, 0, 255).astype(np.uint8), cv2.COLOR_HSV2RGB)
    alpha = cv2.GaussianBlur(mask.astype(np.float32), (0, 0), 1.0)[..., None]
    return np.asarray(image * (1 - alpha) + other * alpha).astype(np.uint8)


def box_of(mask: Image) -> tuple[int, int, int, int]:
    """x0, y0, x1, y1 (exclusive) of a mask that is not empty."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def recolour_some(canvas: Canvas, chance: float, rng: Rng) -> None:
    """Change the hue of some of the canvas's fruit."""
    for mask in canvas.masks:
        if rng.random() < chance and mask.any():
            x0, y0, x1, y1 = box_of(mask)
            canvas.image[y0:y1, x0:x1] = recolour(canvas.image[y0:y1, x0:x1], mask[y0:y1, x0:x1], rng)


def _turned(cutout: Cutout, target_px: float, rng: Rng) -> tuple[Image, Image]:
    """The cutout at another size, angle and side: image (h x w x 3) and mask (h x w)."""
    scale = min(target_px / np.sqrt(cutout.area), 3.0)
    height, width = cutout.mask.shape
    side = int(np.ceil(np.hypot(height, width) * scale)) + 4
    matrix = np.asarray(cv2.getRotationMatrix2D((width / 2, height / 2), rng.uniform(-25, 25), scale), np.float64)
    if rng.random() < 0.5:
        matrix = matrix @ np.array([[-1, 0, width], [0, 1, 0], [0, 0, 1]], np.float64)
    matrix[:, 2] += np.array([side - width, side - height]) / 2
    image = cv2.warpAffine(cutout.image, matrix, (side, side), borderMode=cv2.BORDER_REPLICATE)
    mask = cv2.warpAffine(cutout.mask, matrix, (side, side), flags=cv2.INTER_NEAREST)
    return image.astype(np.uint8), mask.astype(np.uint8)


def _occlude(mask: Image, rng: Rng) -> Image:
    """The mask without a leaf-like ellipse from one side."""
    height, width = mask.shape
    angle, reach = rng.uniform(0, 2 * np.pi), rng.uniform(0.25, 0.5)
    centre = (int(width * (0.5 + reach * np.cos(angle))), int(height * (0.5 + reach * np.sin(angle))))
    axes = (int(width * rng.uniform(0.25, 0.5)), int(height * rng.uniform(0.1, 0.3)))
    leaf = np.zeros_like(mask)
    cv2.ellipse(leaf, centre, axes, float(rng.uniform(0, 180)), 0, 360, 1, -1)
    return (mask & (1 - leaf)).astype(np.uint8)


def paste(canvas: Canvas, cutout: Cutout, augment: AugmentSettings, rng: Rng) -> None:
    """Paste one fruit; what of it an imagined leaf hides shows the picture, and the fruit behind it loses that part."""
    image, mask = _turned(cutout, _uniform_log(rng, *augment.paste_px), rng)
    whole = float(mask.sum())
    if rng.random() < augment.paste_occlude:
        mask = _occlude(mask, rng)
    if not mask.any() or mask.sum() < 0.3 * whole:
        return
    if rng.random() < 0.5:
        image = recolour(image, mask, rng)
    image = np.clip(image * rng.uniform(0.5, 1.15), 0, 255).astype(np.uint8)
    x0, y0, x1, y1 = box_of(mask)
    image, mask = image[y0:y1, x0:x1], mask[y0:y1, x0:x1]
    side = canvas.image.shape[0]
    height, width = mask.shape
    if height >= side or width >= side:
        return
    left, top = int(rng.integers(0, side - width)), int(rng.integers(0, side - height))
    place = (slice(top, top + height), slice(left, left + width))
    alpha = (cv2.GaussianBlur(mask.astype(np.float32), (0, 0), 0.8) * mask)[..., None]
    canvas.image[place] = (canvas.image[place] * (1 - alpha) + image * alpha).astype(np.uint8)
    for other in canvas.masks:
        other[place] &= 1 - mask
    plane = np.zeros(canvas.image.shape[:2], np.uint8)
    plane[place] = mask
    canvas.masks.append(plane)
    canvas.areas.append(whole)


def photometric(image: Image, augment: AugmentSettings, rng: Rng) -> Image:
    """Colour, blur (also of a small picture enlarged) and noise on an S x S x 3 tile."""
    hsv = cv2.cvtColor(image, cv2.COLOR_RGB2HSV).astype(np.float32)
    hsv[..., 0] = (hsv[..., 0] + 180 * rng.uniform(-augment.hue, augment.hue)) % 180
    hsv[..., 1] *= 0 if rng.random() < augment.grey else 1 + rng.uniform(-augment.saturation, augment.saturation)
    gamma = np.exp(rng.uniform(-augment.value, augment.value))
    gain = 255 * (1 + rng.uniform(-augment.value, augment.value) / 2)
    hsv[..., 2] = gain * (np.clip(hsv[..., 2], 0, 255) / 255) ** gamma
    out = cv2.cvtColor(np.clip(hsv, 0, 255).astype(np.uint8), cv2.COLOR_HSV2RGB)
    if rng.random() < augment.blur:
        if rng.random() < 0.5:
            out = cv2.GaussianBlur(out, (0, 0), rng.uniform(0.5, 1.5))
        else:
            side, factor = out.shape[0], rng.uniform(0.25, 0.7)
            small = cv2.resize(out, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA)
            out = cv2.resize(small, (side, side), interpolation=cv2.INTER_LINEAR)
    if rng.random() < augment.noise:
        grain = rng.standard_normal(out.shape[:2], np.float32)[..., None] * rng.uniform(2, 10)
        out = np.clip(out + grain, 0, 255).astype(np.uint8)
    return out.astype(np.uint8)


class TileMaker:
    """Makes training tiles from pictures in memory; what it makes depends on the generator alone."""

    def __init__(self, settings: Settings, pictures: dict[str, list[Picture]]) -> None:
        self._settings = settings
        self._pictures = pictures
        self._sets = {s.folder: s for s in settings.sets}
        self._folders = [s.folder for s in settings.sets if s.weight > 0]
        weights = np.array([s.weight for s in settings.sets if s.weight > 0])
        self._shares = weights / weights.sum()
        self._banks = [(s.paste_weight, cutouts(pictures[s.folder])) for s in settings.sets if s.paste_weight > 0]

    def _cell(self, canvas: Canvas, cell: tuple[int, ...], rng: Rng) -> None:
        """Fill one cell from a drawn set and picture."""
        folder = self._folders[rng.choice(len(self._folders), p=self._shares)]
        picture = self._pictures[folder][rng.integers(len(self._pictures[folder]))]
        sizes = (max(cell[2] - cell[0], 1), max(cell[3] - cell[1], 1))
        matrix = window_matrix(picture, (self._sets[folder], self._settings.augment), sizes, rng)
        paint_window(canvas, picture, matrix, cell)

    def _paste_some(self, canvas: Canvas, rng: Rng) -> None:
        """Paste one to ``paste_most`` fruit of drawn sets."""
        weights = np.array([w for w, _ in self._banks])
        for _ in range(int(rng.integers(1, self._settings.augment.paste_most + 1))):
            bank = self._banks[rng.choice(len(self._banks), p=weights / weights.sum())][1]
            paste(canvas, bank[rng.integers(len(bank))], self._settings.augment, rng)

    def make(self, rng: Rng, plain: bool) -> tuple[Image, list[Image]]:
        """One tile S x S x 3 uint8 RGB and its masks (S x S uint8, 0 or 1); ``plain``: neither mosaic nor pasting."""
        side, augment = self._settings.tile.size, self._settings.augment
        canvas = Canvas(np.zeros((side, side, 3), np.uint8), [], [])
        if not plain and rng.random() < augment.mosaic:
            x, y = (int(v) for v in rng.integers(int(0.3 * side), int(0.7 * side), 2))
            for cell in ((0, 0, x, y), (x, 0, side, y), (0, y, x, side), (x, y, side, side)):
                self._cell(canvas, cell, rng)
        else:
            self._cell(canvas, (0, 0, side, side), rng)
        recolour_some(canvas, augment.recolour * (0.5 if plain else 1.0), rng)
        if not plain and rng.random() < augment.paste:
            self._paste_some(canvas, rng)
        image = photometric(canvas.image, augment, rng)
        tile = self._settings.tile
        seen = [(m, int(m.sum()), a) for m, a in zip(canvas.masks, canvas.areas, strict=True)]
        kept = [m for m, n, a in seen if n >= tile.min_px and n >= tile.min_visible * a]
        return image, kept
