"""`edgekit camera check` with a real pipeline."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import cv2
import pytest
from live_watch import settle
from typer.testing import CliRunner

from edgekit.cli.camera import app
from edgekit.cli.panorama import app as panorama
from edgekit.errors import SettingsError, SourceError

pytestmark = pytest.mark.skipif(shutil.which("gst-launch-1.0") is None, reason="GStreamer is not installed")


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    threads = threading.active_count()
    yield
    settle(threads)


def described(folder: Path, pattern: str, more: str = "", *, rate_hz: int = 20) -> Path:
    path = folder / "camera.toml"
    source = f"videotestsrc is-live=true pattern={pattern} ! video/x-raw,width=160,height=120,framerate=20/1"
    path.write_text(f'kind = "gstreamer"\npipeline = "{source}"\nsize_wh = [160, 120]\nrate_hz = {rate_hz}\n{more}')
    return path


def test_a_camera_is_measured_and_its_picture_kept(tmp_path: Path) -> None:
    path = described(tmp_path, "snow", "turn_deg = 90\n")
    result = CliRunner().invoke(app, ["check", str(path), "--seconds", "2.5", "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["size_wh"] == [120, 160]
    assert told["rate_hz"] == pytest.approx(20, rel=0.15)
    assert told["frames"] > 30
    assert (told["frames"] + told["missing"] - 1) / told["seconds"] == pytest.approx(told["rate_hz"])
    assert 100 < told["brightness"] < 160
    assert told["sharpness"] > 0.2
    assert not any("asked" in line for line in told["warnings"])
    assert cv2.imread(str(tmp_path / "camera.png")).shape == (160, 120, 3)


def test_what_is_wrong_is_told(tmp_path: Path) -> None:
    path = described(tmp_path, "ball", rate_hz=30)
    result = CliRunner().invoke(app, ["check", str(path), "--seconds", "2.5", "--picture", str(tmp_path / "now.png")])
    assert result.exit_code == 0, result.output
    assert "30 were asked" in result.output
    assert "too dark" in result.output
    assert "black" in result.output
    assert (tmp_path / "now.png").exists()


def test_a_camera_without_frames_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "camera.toml"
    path.write_text('kind = "gstreamer"\npipeline = "filesrc location=/nowhere ! decodebin"\n')
    result = CliRunner().invoke(app, ["check", str(path)])
    assert isinstance(result.exception, SourceError)
    assert "gave no frame" in str(result.exception)


def test_a_lens_of_other_pictures_is_told_before_the_row(tmp_path: Path) -> None:
    (tmp_path / "lens.toml").write_text(
        "size_wh = [160, 120]\nfocal_px = [100.0, 100.0]\ncentre_px = [80.0, 60.0]\n"
        'distortion = [-0.2, 0.03, 0.0, 0.0, 0.0]\nrms_px = 0.2\nviews = 20\nboard = "made"\n'
    )
    path = described(tmp_path, "snow", 'turn_deg = 90\nlens = "lens.toml"\n')
    result = CliRunner().invoke(app, ["check", str(path), "--seconds", "0.5"])
    assert isinstance(result.exception, SettingsError)


def test_a_row_of_a_camera_ends_by_time(tmp_path: Path) -> None:
    path = described(tmp_path, "snow")
    out = tmp_path / "out"
    result = CliRunner().invoke(panorama, ["build", str(path), "--out", str(out), "--seconds", "2", "--quiet"])
    assert result.exit_code == 0, result.output
    assert json.loads((out / "panorama.json").read_text())["frames"] > 20
