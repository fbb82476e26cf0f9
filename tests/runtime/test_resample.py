"""Reading a picture at a sub-pixel position."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.runtime.mosaic.resample import read_window

FRACTIONS = (0.1, 0.25, 0.5, 0.8)


def wave(length_px: float, moved_px: float = 0.0) -> np.ndarray:
    """24 x 96 x 3, a wave along x that was moved to the left."""
    x = np.arange(96) + moved_px
    row = np.rint(128 + 100 * np.sin(2 * np.pi * x / length_px))
    return np.repeat(np.repeat(row[None, :, None], 24, axis=0), 3, axis=2).astype(np.uint8)


@pytest.mark.parametrize("fraction", FRACTIONS)
@pytest.mark.parametrize(("length_px", "most_grey"), [(40.0, 1), (4.0, 1), (2.86, 5)])
def test_waves_down_to_nearly_the_finest_are_read_between_pixels(
    length_px: float, most_grey: int, fraction: float
) -> None:
    read = read_window(wave(length_px), (8 + fraction, 0.0), (80, 24))
    wanted = wave(length_px, fraction)[:, 8:88]
    assert np.abs(read.astype(int) - wanted).max() <= most_grey
    down = read_window(wave(length_px).transpose(1, 0, 2), (0.0, 8 + fraction), (24, 80))
    assert np.array_equal(down, read.transpose(1, 0, 2))


def test_whole_pixels_are_copied() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (30, 40, 3), np.uint8)
    assert np.array_equal(read_window(picture, (5.0, 7.001), (20, 10)), picture[7:17, 5:25])


@pytest.mark.parametrize("fraction", [0.1, 0.25, 0.45, 0.8])
def test_the_edge_of_the_picture_does_not_ring(fraction: float) -> None:
    """An even picture stays even up to its edge, and is black from where the middle of a pixel lies outside."""
    picture = np.full((30, 40, 3), 200, np.uint8)
    read = read_window(picture, (fraction - 4, fraction - 6), (50, 45))
    inside = np.zeros((45, 50), bool)
    inside[6 - round(fraction) : 36 - round(fraction), 4 - round(fraction) : 44 - round(fraction)] = True
    assert np.array_equal(read, np.repeat(np.where(inside, 200, 0)[:, :, None], 3, axis=2))
    assert picture.min() == 200


@pytest.mark.parametrize("origin_xy", [(-20.0, 0.5), (41.3, 2.0), (0.0, 31.0), (3.25, -12.5)])
def test_what_lies_beside_the_picture_is_black(origin_xy: tuple[float, float]) -> None:
    picture = np.full((30, 40, 3), 200, np.uint8)
    assert not read_window(picture, origin_xy, (12, 11)).any()


def test_nothing_is_asked_for() -> None:
    assert read_window(np.zeros((30, 40, 3), np.uint8), (3.5, 0.0), (0, 30)).shape == (30, 0, 3)
