"""Displacement where it is hard: depth, posts, dirt, exposure, nothing to see."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path

import cv2
import numpy as np
import pytest
from made_rows import SIZE_WH, Built, made_strip

from edgekit.contracts import Displacement, DisplacementEstimator, Frame
from edgekit.errors import SettingsError, SourceError
from edgekit.runtime.motion.displacement import CanopyDisplacement
from edgekit.runtime.motion.robust import agree, hill
from edgekit.runtime.motion.settings import DisplacementSettings
from edgekit.runtime.rowmaker import Blank, DepthLayer, Look, Motion, Posts, SlidingCamera, leaves
from edgekit.runtime.sources import open_source

STRIP = made_strip(1600)


def measured(frames: Iterable[Frame], settings: DisplacementSettings | None = None) -> list[Displacement]:
    estimator = CanopyDisplacement(settings or DisplacementSettings())
    assert isinstance(estimator, DisplacementEstimator)
    found = [estimator.measure(frame) for frame in frames]
    assert found[0] is None
    return [one for one in found[1:] if one is not None]


def made(motion: Motion, **options: object) -> SlidingCamera:
    return SlidingCamera(STRIP, motion, size_wh=SIZE_WH, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("speed", [0.2, 3.7, -11.4, 41.3, -80.0])
def test_sub_pixel_in_both_directions(speed: float) -> None:
    moved = [one.dx_px for one in measured(made(Motion(frames=13, speed_px=speed)))]
    assert np.allclose(moved, -speed, atol=0.17)
    assert sum(moved) == pytest.approx(-12 * speed, abs=0.25)


@pytest.mark.parametrize("speed", [6.4, 6.6, 12.15])
def test_a_steady_ride_is_not_pulled_towards_whole_pixels(speed: float) -> None:
    """Reading between pixels dims fine detail; unsoftened that shortened or lengthened a row by 0.1 %."""
    moved = [one.dx_px for one in measured(made(Motion(frames=60, speed_px=speed)))]
    assert abs(np.mean(moved) + speed) < 0.0006 * speed


def test_vertical_displacement() -> None:
    camera = made(Motion(frames=20, speed_px=6.0, jitter_px=2.5, seed=1))
    true = -np.diff(camera.path.y_px)
    assert np.allclose([one.dy_px for one in measured(camera)], true, atol=0.25)


def test_posts_do_not_alias() -> None:
    """Posts every 40 px at 30 px a frame could as well be -10: what was known of the speed decides."""
    stretch = (420, 1500)
    blurred = cv2.GaussianBlur(STRIP, (0, 0), 25)
    weak = np.clip(blurred.astype(np.float32) + 0.05 * (STRIP.astype(np.float32) - 128), 0, 255).astype(np.uint8)
    strip = np.concatenate((STRIP[:, :420], weak[:, 420:]), axis=1)
    posts = Posts(period_px=40, width_px=12, stretch_px=stretch)
    camera = SlidingCamera(
        strip, Motion(frames=40, speed_px=30.0), size_wh=SIZE_WH, layers=[posts], look=Look(noise=1.0)
    )
    moved = [one.dx_px for one in measured(camera)]
    assert np.allclose(moved, -30.0, atol=0.5)


def test_exposure_steps_do_not_move_anything() -> None:
    look = Look(exposure=((10, 0.5), (20, 1.3)))
    camera = made(Motion(frames=31, speed_px=6.4), look=look)
    moved = [one.dx_px for one in measured(camera)]
    assert np.abs(np.cumsum(moved) + 6.4 * np.arange(1, 31)).max() < 1.0


def test_dirt_is_not_a_stop() -> None:
    camera = made(Motion(frames=40, speed_px=5.3), look=Look(dirt=12, seed=3))
    assert np.allclose([one.dx_px for one in measured(camera)], -5.3, atol=0.3)


@pytest.mark.parametrize(("share", "speed"), [(0.08, 1.5), (0.3, 0.3)])
def test_the_layer_of_the_fruit_is_followed(share: float, speed: float) -> None:
    texture = made_strip(700, seed=9)
    layer = DepthLayer(texture, leaves(texture, share=share, seed=1), speed=speed)
    moved = [one.dx_px for one in measured(made(Motion(frames=40, speed_px=7.0), layers=[layer]))]
    assert np.median(moved) == pytest.approx(-7.0, abs=0.15)
    assert sum(moved) == pytest.approx(-7.0 * 39, rel=0.01)


@pytest.mark.parametrize("speed", [5.0, 7.0])
def test_holes_in_a_third_of_the_row_do_not_slow_it_down(speed: float) -> None:
    """Two layers of about equal weight: the mean of both is the speed of neither."""
    texture = made_strip(700, seed=9)
    layer = DepthLayer(texture, leaves(texture, share=0.35, seed=1), speed=0.3)
    moved = [one.dx_px for one in measured(made(Motion(frames=100, speed_px=speed), layers=[layer]))]
    assert sum(moved) == pytest.approx(-99 * speed, rel=0.01)


def test_the_heavier_of_two_hills_is_chosen() -> None:
    values = np.array([-6.1, -6.0, -5.9, -5.8, -2.1, -2.0, -1.9, -3.9], np.float32)
    weights = np.ones(8, np.float32)
    found = agree(values, weights, hill(values, weights, share=0.3, least=0.5))
    assert found.value == pytest.approx(-5.95, abs=0.02)
    assert found.share == pytest.approx(0.5)


def test_the_band_chooses_the_layer() -> None:
    """Upper half at 10 px a frame, lower half at 15: each band measures its own, and near discs stay round."""
    upper, lower = made_strip(1600, height=184, seed=1), made_strip(1600, height=184, seed=2)
    frames = []
    for number in range(40):
        top = upper[12:92, number * 10 : number * 10 + 320]
        bottom = lower[12:92, number * 15 : number * 15 + 320]
        frames.append(Frame(np.concatenate((top, bottom)), number, number / 30))
    for band, speed in (((0.0, 0.5), 10.0), ((0.5, 1.0), 15.0)):
        moved = [one.dx_px for one in measured(frames, DisplacementSettings(band=band))]
        assert np.allclose(moved, -speed, atol=0.1)


def test_a_featureless_stretch_is_bridged_at_the_last_speed() -> None:
    camera = made(Motion(frames=150, speed_px=8.0), layers=[Blank(500, 1000)])
    built = Built(camera)
    bridged = [record for record in built.records if record.status == "bridged"]
    assert 5 <= len(bridged) <= 40
    assert all("featureless" in str(r.reason) or "blocks" in str(r.reason) for r in bridged)
    assert all(r.confidence < 0.2 for r in bridged)
    assert any(part.bridged for part in built.columns)
    assert max(map(abs, built.errors_px(camera.path.x_px).values())) < 12


def test_short_blindness_is_mended_by_what_comes_after() -> None:
    frames = list(made(Motion(frames=60, speed_px=6.0)))
    for number in (30, 31, 32):
        frames[number] = Frame(np.full_like(frames[number].image, 90 + number), number, frames[number].time_s)
    built = Built(frames)
    assert [record.status for record in built.records][30:33] == ["bridged"] * 3
    assert not any(part.bridged for part in built.columns)
    errors = built.errors_px(np.arange(60) * 6.0)
    assert abs(errors[59]) < 0.3


def test_frames_that_are_small_or_black_do_no_harm() -> None:
    black = [Frame(np.zeros((40, 50, 3), np.uint8), number, number / 30) for number in range(4)]
    assert all(one.reason for one in measured(black))


@pytest.mark.parametrize("bad", [{"band": (0.4, 0.45)}, {"reach": 0.9}, {"lift_px": -1.0}, {"focus": 0.0}])
def test_settings_are_checked(bad: dict) -> None:
    with pytest.raises(SettingsError):
        DisplacementSettings(**bad)


@pytest.mark.shared
def test_a_real_canopy_is_followed_and_not_the_ground(shared: Path) -> None:
    """The plants move about 2,500 px over the 41 frames, the ground behind them about 400."""
    folder = shared / "data" / "strawberry_row"
    moved = [one.dx_px for one in measured(open_source(folder / "images"))]
    tracks: dict[int, dict[int, float]] = {}
    for row in np.loadtxt(folder / "tracks_mot.txt", delimiter=","):
        tracks.setdefault(int(row[1]), {})[int(row[0])] = row[2] + row[4] / 2
    wanted = 0.0
    for first, second in itertools.pairwise(range(4, 42)):
        pairs = [xs[second] - xs[first] for xs in tracks.values() if first in xs and second in xs]
        wanted += float(np.median(pairs))
    assert wanted == pytest.approx(2339, abs=1)
    assert sum(moved[3:]) == pytest.approx(wanted, rel=0.05)
    assert min(moved) > 25


@pytest.mark.parametrize("size_wh", [(1, 1), (15, 400), (400, 15)])
def test_frames_too_small_to_follow_a_row_are_refused(size_wh: tuple[int, int]) -> None:
    width, height = size_wh
    frame = Frame(np.zeros((height, width, 3), np.uint8), 0, 0.0)
    with pytest.raises(SourceError, match=f"{width} x {height} px are too small"):
        CanopyDisplacement(DisplacementSettings()).measure(frame)


def test_the_smallest_frames_are_taken() -> None:
    estimator = CanopyDisplacement(DisplacementSettings())
    noise = np.random.default_rng(0).integers(0, 256, (3, 16, 16, 3), np.uint8)
    assert estimator.measure(Frame(noise[0], 0, 0.0)) is None
    assert estimator.measure(Frame(noise[1], 1, 0.1)) is not None
