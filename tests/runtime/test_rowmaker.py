"""The row maker itself: frames lie where it says, and each fault is the one that was asked for."""

from __future__ import annotations

import itertools
from pathlib import Path

import cv2
import numpy as np
import pytest

from edgekit.contracts import FrameSource, MaskCrop
from edgekit.labels import LabelledInstance, LabelledPicture, read_coco
from edgekit.runtime.rowmaker import (
    Blank,
    DepthLayer,
    Look,
    Motion,
    Posts,
    SlidingCamera,
    Spell,
    camera_path,
    leaves,
    load_photo_row,
    photo_row,
)


def texture(width: int, height: int = 124, seed: int = 0) -> np.ndarray:
    noise = np.random.default_rng(seed).integers(0, 255, (height, width, 3), np.uint8)
    return cv2.normalize(cv2.GaussianBlur(noise, (0, 0), 2.0), None, 20, 230, cv2.NORM_MINMAX)


def test_frames_lie_where_the_path_says() -> None:
    strip = texture(900)
    camera = SlidingCamera(strip, Motion(frames=40, speed_px=7.25), size_wh=(200, 100))
    assert isinstance(camera, FrameSource)
    frames = list(camera)
    assert np.allclose(np.diff(camera.path.x_px), 7.25)
    assert np.array_equal(frames[4].image, strip[12:112, 29:229])
    between = (strip[12:112, 7:207].astype(float) * 0.75 + strip[12:112, 8:208] * 0.25)[:, 3:-3]
    assert np.abs(frames[1].image[:, 3:-3] - between).mean() < 2.0


def test_leftward_motion_starts_at_the_right() -> None:
    path = camera_path(Motion(frames=10, speed_px=-5))
    assert path.x_px[0] == 45
    assert path.x_px[-1] == 0


def test_stops_and_reversals() -> None:
    path = camera_path(Motion(frames=30, speed_px=4, spells=(Spell(5, 10, 0.0), Spell(20, 5, -4.0))))
    assert np.ptp(path.x_px[5:16]) == 0
    assert path.x_px[25] - path.x_px[20] == -20


def test_lost_and_repeated_frames() -> None:
    camera = SlidingCamera(texture(900), Motion(frames=100, lost=0.2, repeated=0.2, seed=3), size_wh=(200, 100))
    frames = list(camera)
    numbers = [frame.sequence for frame in frames]
    assert len(frames) == camera.length < 95
    assert numbers == sorted(numbers)
    same = sum(np.array_equal(a.image, b.image) for a, b in itertools.pairwise(frames))
    assert same > 5


def test_roll_turns_about_the_middle() -> None:
    strip = texture(600, 324)
    level = SlidingCamera(strip, Motion(frames=3, speed_px=100), size_wh=(200, 200)).picture(2)
    rolled = SlidingCamera(strip, Motion(frames=3, speed_px=100, roll_deg=90), size_wh=(200, 200)).picture(2)
    assert np.abs(np.rot90(rolled, 1).astype(int) - level)[2:-2, 2:-2].max() <= 2


def test_look() -> None:
    strip = np.full((124, 400, 3), 100, np.uint8)
    look = Look(exposure=((2, 0.5),), vignetting=0.3, dirt=3)
    frames = list(SlidingCamera(strip, Motion(frames=4, speed_px=3), size_wh=(200, 100), look=look))
    assert frames[2].image.mean() / frames[1].image.mean() == pytest.approx(0.5, abs=0.01)
    assert frames[0].image[0, 0, 0] < frames[0].image[50, 100, 0]
    noisy = [
        f.image for f in SlidingCamera(strip, Motion(frames=2, speed_px=0), look=Look(noise=4.0), size_wh=(200, 100))
    ]
    assert noisy[0].std() == pytest.approx(4.0, abs=0.3)
    assert not np.array_equal(noisy[0], noisy[1])


def test_layers_move_at_their_own_speed() -> None:
    strip, fine = np.full((124, 900, 3), 90, np.uint8), texture(500)
    near = DepthLayer(fine, leaves(fine, share=0.3), speed=1.5)
    camera = SlidingCamera(strip, Motion(frames=5, speed_px=20), size_wh=(200, 100), layers=[near])
    one, two = camera.picture(0), camera.picture(1)
    assert np.array_equal(one[:, 30:], two[:, :-30])
    sheet = SlidingCamera(strip, Motion(frames=5), size_wh=(200, 100), layers=[Posts(period_px=40), Blank(100, 150)])
    image = sheet.picture(0)
    assert image[50, 120, 0] == 200
    assert image[50, 85, 0] == 150
    assert image[50, 95, 0] == 90


def test_both_edges_of_a_post_are_soft_and_move_with_it() -> None:
    black = np.zeros((4, 200, 3), np.uint8)
    posts = Posts(period_px=40, width_px=16)
    row = posts.laid_over(black, (0.0, 0.0))[0, :, 0].astype(int)
    assert np.array_equal(row[40:80], row[80:120])
    assert row[[38, 40, 42, 54, 56, 58]].tolist() == [0, 75, 150, 150, 75, 0]
    assert np.abs(np.diff(row)).max() < 75
    moved = posts.laid_over(black, (0.5, 0.0))[0, :, 0].astype(int)
    assert np.abs(moved[40:80].sum() - row[40:80].sum()) <= 2
    assert moved[39] == 39


def test_fruit_move_with_their_pictures() -> None:
    plane = np.zeros((10, 10), bool)
    plane[2:8, 3:9] = True
    box = np.array([103, 52, 109, 58], np.float32)
    item = LabelledInstance("1", "fruit", MaskCrop(plane, 100, 50), box)
    label = LabelledPicture("a", (200, 100), (item,))
    row = photo_row([np.zeros((100, 200, 3), np.uint8)] * 2, [label, label])
    assert row.edges_px == (0, 200, 400)
    assert [fruit.mask.x_px for fruit in row.instances] == [100, 300]
    half = photo_row([np.zeros((100, 200, 3), np.uint8)] * 2, [label, label], height_px=50)
    assert half.image.shape == (50, 200, 3)
    assert half.instances[1].mask.area_px == pytest.approx(9, abs=3)
    assert np.allclose(half.instances[1].box_xyxy, [151.5, 26, 154.5, 29])


@pytest.mark.shared
def test_a_photo_row_of_real_pictures(shared: Path) -> None:
    folder = shared / "data" / "paprika_greenhouse"
    (labels_path,) = folder.glob("*.json")
    labels = read_coco(labels_path)
    row = load_photo_row(labels, folder / "images", height_px=360)
    assert row.image.shape == (360, 6 * 640, 3)
    assert len(row.instances) == labels.instance_count == 37
    for fruit in row.instances:
        assert fruit.mask.x_px + fruit.mask.plane.shape[1] <= row.image.shape[1]


def test_a_motion_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        SlidingCamera(texture(300), Motion(frames=100, speed_px=5), size_wh=(200, 100))
