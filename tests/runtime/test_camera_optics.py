"""Lens, roll and fall-off are undone in the one resampling."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest
from made_rows import made_strip

from edgekit.contracts import Frame, Image
from edgekit.errors import SettingsError, SourceError
from edgekit.runtime.camera.flat_field import board_from_row, gain_of_board
from edgekit.runtime.camera.lens import Lens, read_lens
from edgekit.runtime.camera.optics import CameraOptics, optics_of
from edgekit.runtime.mosaic.mosaic import StripMosaic
from edgekit.runtime.mosaic.resample import read_window
from edgekit.runtime.mosaic.settings import MosaicSettings
from edgekit.runtime.panorama.quality import QualityWatch
from edgekit.runtime.row_view import open_row, open_view
from edgekit.runtime.settings import RunSettings
from edgekit.runtime.sources import CameraDescription, read_camera

SIZE_WH = (640, 360)
BARREL = Lens(SIZE_WH, (520.0, 520.0), (324.0, 176.0), (-0.22, 0.05, 0.0, 0.0, 0.0), 0.2, 20, "made")


def quick_strip(width: int, height: int) -> Image:
    """Blobs about 6 px across."""
    noise = np.random.default_rng(0).integers(0, 255, (height // 6 + 1, width // 6 + 1, 3), np.uint8)
    return cv2.resize(noise, (width, height), interpolation=cv2.INTER_CUBIC)


def scene() -> Image:
    """Smooth enough to be resampled twice by the test without losing what it compares."""
    return cv2.GaussianBlur(made_strip(SIZE_WH[0], SIZE_WH[1]), (0, 0), 2.5)


def bent(straight: Image, lens: Lens) -> Image:
    """What the lens makes of the picture that its straight counterpart would give."""
    camera, distortion = lens.matrix(SIZE_WH), np.array(lens.distortion)
    new = cv2.getOptimalNewCameraMatrix(camera, distortion, SIZE_WH, 0)[0]
    x, y = np.meshgrid(np.arange(SIZE_WH[0], dtype=np.float32), np.arange(SIZE_WH[1], dtype=np.float32))
    points = np.stack([x.ravel(), y.ravel()], axis=1)[:, None]
    there = cv2.undistortPoints(points, camera, distortion, None, None, new).reshape(*x.shape, 2)
    return cv2.remap(straight, there.astype(np.float32), None, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT)


def test_a_bent_picture_is_straight_again() -> None:
    straight = scene()
    seen = bent(straight, BARREL)
    window = CameraOptics(BARREL).read(seen, (40.0, 20.0), (560, 320))
    wanted = straight[20:340, 40:600]
    assert np.abs(window.astype(int) - wanted).mean() < 1.0
    assert np.abs(seen[20:340, 40:600].astype(int) - wanted).mean() > 5.0


def test_what_is_measured_is_straight_within_the_band() -> None:
    straight = scene()
    seen = CameraOptics(BARREL).straight(bent(straight, BARREL), (0.1, 0.5))
    wanted = cv2.cvtColor(straight, cv2.COLOR_RGB2GRAY)
    assert seen.shape == straight.shape
    assert np.abs(seen[40:176, 40:600, 0].astype(int) - wanted[40:176, 40:600]).mean() < 1.0
    assert not seen[190:].any()


def test_windows_fit_together_at_any_fraction_of_a_pixel() -> None:
    optics, seen = CameraOptics(BARREL, 1.5), bent(scene(), BARREL)
    whole = optics.read(seen, (100.3, -4.6), (300, 300))
    parts = [optics.read(seen, (100.3 + left, -4.6), (60, 300)) for left in range(0, 300, 60)]
    assert np.abs(np.concatenate(parts, axis=1).astype(int) - whole).max() <= 2
    assert optics.read(seen, (5.0, 0.0), (0, 20)).shape == (20, 0, 3)


def test_without_lens_and_roll_pixels_are_read_as_before() -> None:
    picture = scene()
    for origin in ((10.0, 0.0), (-20.4, 3.3), (600.7, -2.0)):
        expected = read_window(picture, origin, (80, 360))
        assert np.array_equal(CameraOptics(None).read(picture, origin, (80, 360)), expected)


def test_a_lens_serves_other_sizes_of_the_same_shape_only() -> None:
    assert BARREL.matrix((1280, 720))[0, 0] == pytest.approx(1040)
    assert BARREL.matrix((1280, 720))[0, 2] == pytest.approx(648.5)
    with pytest.raises(SettingsError, match="360 x 640"):
        BARREL.matrix((360, 640))


def board(vignetting: float = 0.4) -> Image:
    x = np.linspace(-1, 1, SIZE_WH[0])[None] * 1.0
    y = np.linspace(-1, 1, SIZE_WH[1])[:, None] * SIZE_WH[1] / SIZE_WH[0]
    grey = 180 * (1 - vignetting * (x**2 + y**2))
    return np.repeat(np.clip(grey, 0, 255).astype(np.uint8)[:, :, None], 3, axis=2)


def test_a_flat_field_evens_the_light() -> None:
    optics = CameraOptics(None, 0.0, gain_of_board(board()))
    even = optics.read(board(), (0.0, 0.0), SIZE_WH)
    assert board().min() < 120
    assert np.ptp(even.mean(axis=2)[8:-8, 8:-8]) < 8
    assert np.array_equal(optics.read(board(), (200.0, 0.0), (64, 360)), even[:, 200:264])


def test_the_fall_off_is_told_from_a_row_that_passes() -> None:
    strip = quick_strip(SIZE_WH[0] + 4000, SIZE_WH[1])
    strip = (strip * np.linspace(1.0, 0.5, SIZE_WH[1])[:, None, None]).astype(np.uint8)  # bright above, dark below
    fall_off = board()[:, :, :1] / 180.0

    def frames() -> Iterator[Frame]:
        for number in range(200):
            view = strip[:, number * 20 : number * 20 + SIZE_WH[0]]
            image = (view * fall_off).astype(np.uint8) if number % 5 == 0 else view
            yield Frame(image, number, number / 15)

    told = board_from_row(frames())[:, :, 0].astype(float)
    wanted = board()[:, :, 0].astype(float)
    ratio = (told / told[180, 320]) / (wanted / wanted[180, 320])
    assert np.abs(ratio - 1).max() < 0.08
    with pytest.raises(SourceError):
        board_from_row([])


@pytest.mark.parametrize("grey", [3, 255])
def test_boards_that_say_nothing_are_refused(grey: int) -> None:
    with pytest.raises(SourceError, match="grey levels"):
        gain_of_board(np.full((360, 640, 3), grey, np.uint8))
    chessboard = np.tile(np.kron([[60, 200], [200, 60]], np.ones((60, 80)))[:, :, None], (3, 4, 3))
    with pytest.raises(SourceError, match="more than a board"):
        gain_of_board(chessboard.astype(np.uint8))


def test_a_board_with_a_black_band_is_no_even_light() -> None:
    picture = board()
    picture[100:160] = 0
    with np.errstate(all="raise"), pytest.raises(SourceError, match="more than a board"):
        gain_of_board(picture)


def rolled(roll_deg: float, count: int = 45) -> Iterator[Frame]:
    """A camera that is turned about its axis rides along a strip, 18 px a frame."""
    strip = quick_strip(SIZE_WH[0] + 18 * count + 400, SIZE_WH[1] + 300)
    turn = cv2.getRotationMatrix2D((0.0, 0.0), roll_deg, 1.0)[:, :2]
    centre = np.array([(SIZE_WH[0] - 1) / 2, (SIZE_WH[1] - 1) / 2])
    for number in range(count):
        middle = np.array([200 + 18 * number + centre[0], 150 + centre[1]])
        matrix = np.column_stack([turn, middle - turn @ centre])
        view = cv2.warpAffine(strip, matrix, SIZE_WH, flags=cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP)
        yield Frame(np.asarray(view, np.uint8), number, number / 15)


def measured_roll(frames: Iterator[Frame], optics: CameraOptics | None) -> tuple[float, float]:
    """Degrees that the quality report tells, and the range of the vertical drift."""
    mosaic, watch = StripMosaic(MosaicSettings(), optics=optics), QualityWatch()
    for frame in frames:
        mosaic.add(frame)
        for record in mosaic.drain_records():
            watch.note(record)
    quality = watch.result()
    assert quality.roll_deg is not None
    assert quality.drift_px is not None
    return quality.roll_deg, quality.drift_px


@pytest.mark.parametrize("roll_deg", [2.0, -2.0])
def test_the_roll_that_is_told_levels_the_row(roll_deg: float) -> None:
    told, drift_px = measured_roll(rolled(roll_deg), None)
    assert abs(told) == pytest.approx(2.0, abs=0.1)
    assert drift_px > 20
    level, level_drift_px = measured_roll(rolled(roll_deg), CameraOptics(None, told))
    assert abs(level) < 0.1
    assert level_drift_px < 3


def test_the_description_of_a_camera_is_honoured(tmp_path: Path) -> None:
    """A recording of a camera in portrait with a lens, a flat field and a travel of its own."""
    (tmp_path / "lens.toml").write_text(
        "size_wh = [360, 640]\nfocal_px = [500.0, 500.0]\ncentre_px = [180.0, 320.0]\n"
        'distortion = [-0.2, 0.03, 0.0, 0.0, 0.0]\nrms_px = 0.2\nviews = 20\nboard = "made"\n'
    )
    cv2.imwrite(str(tmp_path / "white.png"), np.rot90(board(), -1))
    path = tmp_path / "left.toml"
    path.write_text(
        'kind = "v4l2"\naddress = "/dev/video0"\nturn_deg = 90\nmirror = true\nlens = "lens.toml"\n'
        'flat_field = "white.png"\nroll_deg = 0.4\ntravel = "left"\npx_per_metre = 900.0\n'
    )
    assert read_lens(tmp_path / "lens.toml").size_wh == (360, 640)
    frames = tmp_path / "row"
    frames.mkdir()
    raw = scene()
    for number in range(3):
        cv2.imwrite(str(frames / f"{number}.png"), cv2.cvtColor(raw, cv2.COLOR_RGB2BGR))
    settings = RunSettings(camera=str(path))
    (first, *_) = open_row(frames, settings)
    assert first.image.shape == (640, 360, 3)
    assert np.array_equal(first.image, np.rot90(raw, -1)[:, ::-1])
    view = open_view(frames, settings)
    assert view.optics is not None
    assert view.optics.read(first.image, (100.0, 0.0), (50, 640)).shape == (640, 50, 3)
    row = view.mosaic()
    assert row.strips.direction == -1
    assert row.px_per_metre == 900.0
    path.write_text(path.read_text().replace("white.png", "gone.png"))
    with pytest.raises(SettingsError, match=r"gone\.png"):
        read_camera(path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "rtsp", "address": "rtsp://x", "exposure_us": 4000},
        {"kind": "v4l2", "address": "/dev/video0", "roll_deg": 40.0},
        {"kind": "v4l2", "address": "/dev/video0", "size_wh": (1280,)},
        {"kind": "v4l2", "address": "/dev/video0", "rate_hz": 0},
        {"kind": "v4l2", "address": "/dev/video0", "px_per_metre": -1.0},
        {"kind": "v4l2", "address": "/dev/video0", "turn_deg": 45},
        {"kind": "csi", "address": "0", "exposure_us": 0},
    ],
)
def test_descriptions_that_cannot_be_meant_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        CameraDescription(**wrong)  # type: ignore[arg-type]


def test_a_straight_camera_has_no_optics() -> None:
    assert optics_of(CameraDescription("v4l2", "/dev/video0", turn_deg=90)) is None
