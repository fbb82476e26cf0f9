"""`edgekit camera flat-field`: from a ride to the picture that evens the light."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from edgekit.cli.camera import app
from edgekit.errors import SettingsError, SourceError, StorageError
from edgekit.runtime.rowmaker import Look, Motion, SlidingCamera


@pytest.fixture(scope="module")
def ride(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """120 frames through a lens whose corners get 60 % of the light, one of them of another shape."""
    folder = tmp_path_factory.mktemp("ride")
    noise = np.random.default_rng(0).integers(60, 200, (190, 4200, 3), np.uint8)
    strip = cv2.GaussianBlur(noise, (0, 0), 1.5)
    camera = SlidingCamera(strip, Motion(frames=120, speed_px=31.0), size_wh=(320, 160), look=Look(vignetting=0.4))
    for frame in camera:
        cv2.imwrite(str(folder / f"f{frame.sequence:03}.jpg"), frame.image)
    cv2.imwrite(str(folder / "f025.jpg"), np.zeros((100, 300, 3), np.uint8))
    return folder


def flat_field(*words: object) -> str:
    result = CliRunner().invoke(app, ["flat-field", *(str(word) for word in words)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def test_the_fall_off_of_a_ride_is_written(ride: Path, tmp_path: Path) -> None:
    out = tmp_path / "white.png"
    told = flat_field(ride, "--out", out)
    board = cv2.imread(str(out)).astype(float)
    assert board.shape == (160, 320, 3)
    middle, corner = board[80, 160, 0], board[0, 0, 0]
    assert corner / middle == pytest.approx(0.6, abs=0.05)
    assert f"wrote {out}" in told


def test_a_ride_that_is_too_short_is_told_with_its_length(tmp_path: Path) -> None:
    folder = tmp_path / "short"
    folder.mkdir()
    cv2.imwrite(str(folder / "one.jpg"), np.full((160, 320, 3), 90, np.uint8))
    with pytest.raises(SourceError, match="from 1 frame "):
        flat_field(folder, "--out", tmp_path / "white.png")


def test_where_it_cannot_go_is_told_before_the_ride_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(StorageError, match="file"):
        flat_field(tmp_path / "no ride", "--out", tmp_path / "file" / "white.png")


def test_a_camera_is_no_ride(tmp_path: Path) -> None:
    """It has no end: the estimate would never come."""
    (tmp_path / "usb.toml").write_text('kind = "v4l2"\naddress = "/dev/video0"\n')
    with pytest.raises(SettingsError, match="whose ride has no end"):
        flat_field(tmp_path / "usb.toml", "--out", tmp_path / "white.png")
