"""The panorama against the strip that it was made from."""

from __future__ import annotations

import itertools

import cv2
import numpy as np
import pytest
from made_rows import SIZE_WH, Built, made_strip

from edgekit.contracts import Frame, PanoramaBuilder
from edgekit.errors import SettingsError
from edgekit.runtime.mosaic.mosaic import StripMosaic
from edgekit.runtime.mosaic.seam import seam_path
from edgekit.runtime.mosaic.settings import MosaicSettings
from edgekit.runtime.rowmaker import Look, Motion, SlidingCamera, Spell

STRIP = made_strip(1600)


def camera(motion: Motion, look: Look | None = None) -> SlidingCamera:
    return SlidingCamera(STRIP, motion, size_wh=SIZE_WH, look=look)


def psnr_db(image: np.ndarray, reference: np.ndarray) -> float:
    error = image.astype(float) - reference.astype(float)
    return float(10 * np.log10(255**2 / max(np.mean(error**2), 1e-3)))


@pytest.mark.parametrize("speed", [7.25, -7.25])
def test_the_panorama_is_the_strip_whichever_way_the_camera_goes(speed: float) -> None:
    made = camera(Motion(frames=101, speed_px=speed))
    built = Built(made)
    assert isinstance(built.mosaic, PanoramaBuilder)
    assert built.direction == np.sign(speed)
    assert built.mosaic.width_px == built.image.shape[1] == pytest.approx(725 + SIZE_WH[0], abs=1)
    assert max(map(abs, built.errors_px(made.path.x_px).values())) < 0.3
    assert psnr_db(built.image[5:-5, 5:1030], STRIP[12:172, : built.image.shape[1]][5:-5, 5:1030]) > 30


@pytest.mark.parametrize("speed", [7.25, -7.25])
def test_columns_adjoin_and_count_from_zero_in_either_direction(speed: float) -> None:
    built = Built(camera(Motion(frames=60, speed_px=speed)))
    end = 0
    for part in built.columns:
        near, far = part.x_px, part.x_px + part.image.shape[1]
        assert (near if speed > 0 else far) == end
        end = far if speed > 0 else near
    assert built.mosaic.origin_px == (0 if speed > 0 else SIZE_WH[0] - built.image.shape[1])
    assert min(built.positions().values()) >= built.mosaic.origin_px - 1


def test_the_same_frames_give_the_same_bytes() -> None:
    made = camera(Motion(frames=40, speed_px=9.3, jitter_px=1.0), Look(noise=3.0))
    assert np.array_equal(Built(made).image, Built(made).image)


def test_going_back_adds_nothing() -> None:
    """50 frames forward, 20 back, 50 forward: 80 frames of row, whatever was seen three times."""
    made = camera(Motion(frames=121, speed_px=8.0, spells=(Spell(50, 20, -8.0),)))
    built = Built(made)
    assert built.image.shape[1] == pytest.approx(80 * 8 + SIZE_WH[0], abs=2)
    assert psnr_db(built.image[5:-5, 5:940], STRIP[12:172][5:-5, 5:940]) > 30
    assert built.statuses()[52:71] == ["reversed"] * 19
    assert "behind the furthest point" in str(built.records[60].reason)


def test_a_stop_adds_nothing_and_is_told() -> None:
    made = camera(Motion(frames=140, speed_px=6.3, spells=(Spell(60, 50, 0.0),)), Look(noise=4.0))
    built = Built(made)
    assert built.image.shape[1] == pytest.approx(89 * 6.3 + SIZE_WH[0], abs=2)
    assert built.statuses()[62:110] == ["stopped"] * 48
    assert all(status == "placed" for status in built.statuses()[1:60])


def test_creeping_is_followed() -> None:
    made = camera(Motion(frames=200, speed_px=5.0, spells=(Spell(20, 160, 0.13),)), Look(noise=3.0))
    errors = Built(made).errors_px(made.path.x_px)
    assert max(map(abs, errors.values())) < 0.4


def test_a_jerk_backwards_at_the_start_does_not_settle_the_direction() -> None:
    built = Built(camera(Motion(frames=80, speed_px=8.0, spells=(Spell(0, 3, -6.0),))))
    assert built.direction == 1


def test_travel_can_be_told() -> None:
    frames = list(camera(Motion(frames=30, speed_px=8.0)))
    assert Built(frames, MosaicSettings(travel="left")).image.shape[1] == SIZE_WH[0]
    assert Built(frames, MosaicSettings(travel="right")).image.shape[1] > 500


def test_lost_and_repeated_frames() -> None:
    made = camera(Motion(frames=120, speed_px=7.0, lost=0.15, repeated=0.1, seed=2))
    built = Built(made)
    true = made.path.x_px[made.path.shows]
    assert max(map(abs, built.errors_px(true).values())) < 0.5
    repeats = [r for r in built.records if r.status == "dropped"]
    assert repeats
    assert all(r.reason == "bit for bit the frame before it" for r in repeats)


def test_frames_that_cannot_be_used_are_dropped_with_the_reason() -> None:
    frames = list(camera(Motion(frames=40, speed_px=6.0)))
    clean = Built(frames[:10] + frames[12:])
    frames[10] = Frame(frames[10].image[:100], 10, 10 / 30)
    frames[11] = Frame(frames[11].image, 11, 11 / 30, "corrupt stretch of the video")
    built = Built(frames)
    assert built.statuses()[10:12] == ["dropped", "dropped"]
    assert built.records[10].reason == "320 x 100, the first frame is 320 x 160"
    assert built.records[11].reason == "corrupt stretch of the video"
    assert np.array_equal(built.image, clean.image)


def test_vertical_jitter_is_corrected() -> None:
    made = camera(Motion(frames=100, speed_px=7.0, jitter_px=2.0, seed=4))
    built = Built(made)
    y_px = np.array([record.y_px for record in built.records])
    assert np.abs(y_px - (made.path.y_px - made.path.y_px[0])).max() < 0.5
    reference = STRIP[12 + round(made.path.y_px[0]) :][:160, :1000]
    assert psnr_db(built.image[14:-14, 5:950], reference[14:-14, 5:950]) > 24


def test_drift_is_bounded() -> None:
    built = Built(camera(Motion(frames=90, speed_px=7.0, roll_deg=2.0)), MosaicSettings(drift_share=0.05))
    black = np.mean(built.image.max(axis=2) == 0)
    assert black < 0.08


def test_every_strip_is_as_sharp_as_the_first() -> None:
    """Each pixel is resampled once: the beginning does not blur while the row gets longer."""
    frames = list(camera(Motion(frames=120, speed_px=7.3)))
    short, long = Built(frames[:30]).image, Built(frames).image
    first = slice(160, 250)
    assert np.array_equal(short[:, first], long[:, first])
    sharpness = [cv2.Laplacian(long[:, x : x + 90], cv2.CV_64F).var() for x in range(160, 900, 90)]
    true = [cv2.Laplacian(STRIP[12:172, x : x + 90], cv2.CV_64F).var() for x in range(160, 900, 90)]
    assert all(own > 0.75 * there for own, there in zip(sharpness, true, strict=True))


def test_few_frames() -> None:
    frames = list(camera(Motion(frames=3, speed_px=5.0)))
    assert StripMosaic(MosaicSettings()).finish() == []
    assert np.array_equal(Built(frames[:1]).image, frames[0].image)
    assert Built(frames).image.shape[1] == SIZE_WH[0] + 10


def test_a_frame_is_held_only_as_long_as_it_may_be_needed() -> None:
    """The builder holds few frames, however many it has seen."""
    import gc
    import weakref

    alive: list[weakref.ref[np.ndarray]] = []
    mosaic = StripMosaic(MosaicSettings())
    most = 0
    for frame in camera(Motion(frames=150, speed_px=2.0)):
        alive.append(weakref.ref(frame.image if frame.image.base is None else frame.image.base))
        mosaic.add(frame)
        del frame
        gc.collect(0)
        most = max(most, sum(ref() is not None and ref() is not STRIP for ref in alive))
    assert most <= 8


@pytest.mark.parametrize(
    "bad", [{"band": (0.5, 0.4)}, {"travel": "up"}, {"strip_px": 0}, {"seam_px": -1}, {"drift_share": 2.0}]
)
def test_settings_are_checked(bad: dict) -> None:
    with pytest.raises(SettingsError):
        MosaicSettings(**bad)


def test_statuses_partition_the_frames() -> None:
    made = camera(
        Motion(frames=100, speed_px=7.0, spells=(Spell(30, 10, 0.0), Spell(60, 10, -5.0)), repeated=0.05),
        Look(noise=2.0),
    )
    built = Built(made)
    numbers = [record.frame for record in built.records]
    assert numbers == list(range(100))
    assert set(built.statuses()) == {"placed", "stopped", "reversed", "dropped"}
    assert all(a.time_s < b.time_s for a, b in itertools.pairwise(built.records))


def test_exposure_steps_leave_no_edge() -> None:
    look = Look(exposure=((40, 0.5), (80, 1.2)))
    frames = list(camera(Motion(frames=120, speed_px=6.0), look))
    edges = {}
    for even in (True, False):
        rows = Built(frames, MosaicSettings(even_exposure=even)).image.mean(axis=(0, 2))
        smooth = np.convolve(rows, np.ones(40) / 40, mode="valid")
        edges[even] = np.abs(smooth[40:] - smooth[:-40]).max()
    assert edges[False] > 40
    assert edges[True] < 0.4 * edges[False]


def test_a_clean_row_is_drawn_without_gain() -> None:
    frames = list(camera(Motion(frames=60, speed_px=6.0)))
    assert np.array_equal(Built(frames).image, Built(frames, MosaicSettings(even_exposure=False)).image)


def test_the_seam_goes_round_what_differs() -> None:
    """Two views of a place where a disc lies at another depth: the seam leaves it whole."""
    left = np.full((160, 64, 3), 90, np.uint8)
    right = left.copy()
    cv2.circle(left, (30, 80), 14, (200, 30, 30), -1)
    cv2.circle(right, (38, 80), 14, (200, 30, 30), -1)
    path = seam_path(left, right)
    differs = np.abs(left.astype(int) - right).max(axis=2) > 20
    assert not differs[np.arange(160), path].any()
    assert np.abs(np.diff(path)).max() <= 1
    assert abs(path[0] - 32) < 14
    assert np.all(seam_path(left, left) == seam_path(left, left)[0])


def test_noise_does_not_drive_the_seam_from_the_middle() -> None:
    rng = np.random.default_rng(0)
    left, right = (np.clip(rng.normal(100, 4, (160, 64, 3)), 0, 255).astype(np.uint8) for _ in range(2))
    assert np.abs(seam_path(left, right) - 32).max() <= 4
