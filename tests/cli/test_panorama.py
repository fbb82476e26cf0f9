"""`edgekit panorama` from frames to files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import cv2
import numpy as np
import pytest
import tifffile
from typer.testing import CliRunner

from edgekit.cli.panorama import app
from edgekit.errors import EdgekitError, RunFinishedError, RunFolderError, SettingsError, StorageError
from edgekit.runtime.panorama.segments import SegmentReader
from edgekit.runtime.rowmaker import Motion, SlidingCamera


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("frames")
    rng = np.random.default_rng(0)
    strip = cv2.GaussianBlur(rng.integers(0, 255, (184, 900, 3), np.uint8), (0, 0), 1.5)
    strip = cv2.normalize(strip, None, 20, 230, cv2.NORM_MINMAX)
    for frame in SlidingCamera(strip, Motion(frames=60, speed_px=-7.5), size_wh=(320, 160)):
        cv2.imwrite(str(folder / f"f{frame.sequence}.png"), frame.image)
    (folder / "f30.png").write_bytes((folder / "f30.png").read_bytes()[:500])
    return folder


def edgekit(*words: object) -> str:
    """Run a command as a person would; an EdgekitError is raised as it is."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    if isinstance(result.exception, EdgekitError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_build_writes_what_it_promises(frames: Path, tmp_path: Path) -> None:
    out, preview = tmp_path / "row", tmp_path / "preview.png"
    told = edgekit(frames, "--out", out, "--kind", "png", "--preview", preview)
    summary = json.loads((out / "panorama.json").read_text())
    width = summary["width_px"]
    assert width == pytest.approx(59 * 7.5 + 320, abs=2)
    assert (summary["height_px"], summary["direction"], summary["frames"]) == (160, -1, 59)
    assert summary["warnings"] == ["1 frame left out, cut short: f30.png"]
    assert f"{width} x 160 px from 59 frames" in told
    with (out / "offsets.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["frame", "time_s", "x_px", "y_px", "confidence", "status", "reason"]
    assert float(rows[0]["x_px"]) == width - 320
    assert float(rows[-1]["x_px"]) == pytest.approx(0, abs=1)
    assert [row["frame"] for row in rows[29:31]] == ["29", "31"]
    assert cv2.imread(str(preview)).shape == (160, width, 3)


def test_the_rate_of_a_folder_of_pictures_is_told(frames: Path, tmp_path: Path) -> None:
    """At half of the rate the same row takes twice as long; a video brings its own times."""
    films = {}
    for fps in (30, 15):
        out = tmp_path / str(fps)
        edgekit(frames, "--out", out, "--fps", fps, "--quiet")
        with (out / "offsets.csv").open(newline="") as file:
            films[fps] = list(csv.DictReader(file))
    assert [row["x_px"] for row in films[15]] == [row["x_px"] for row in films[30]]
    assert float(films[15][-1]["time_s"]) == pytest.approx(59 / 15, abs=1e-3)
    assert float(films[30][-1]["time_s"]) == pytest.approx(59 / 30, abs=1e-3)
    (tmp_path / "row.mp4").write_bytes(b"film")
    with pytest.raises(SettingsError, match="their own times"):
        edgekit(tmp_path / "row.mp4", "--out", tmp_path / "x", "--fps", 15)


def test_export_as_big_tiff_and_deep_zoom(frames: Path, tmp_path: Path) -> None:
    out = tmp_path / "row"
    edgekit("build", frames, "--out", out, "--kind", "png", "--quiet")
    reader = SegmentReader(out)
    whole = reader.window(0, reader.index.width_px)
    edgekit("export", out, tmp_path / "row.tif")
    with tifffile.TiffFile(tmp_path / "row.tif") as tiff:
        assert tiff.is_bigtiff
        assert np.array_equal(tiff.asarray(), whole)
    edgekit("export", out, tmp_path / "row.dzi")
    assert f'Width="{whole.shape[1]}"' in (tmp_path / "row.dzi").read_text()
    levels = sorted(int(path.name) for path in (tmp_path / "row_files").iterdir())
    assert levels == list(range(11))
    assert cv2.imread(str(tmp_path / "row_files" / "0" / "0_0.jpg")).shape[:2] == (1, 1)
    with pytest.raises(SettingsError, match="bmp"):
        edgekit("export", out, tmp_path / "row.bmp")


def test_a_preview_is_what_its_name_says(frames: Path, tmp_path: Path) -> None:
    out = tmp_path / "row"
    with pytest.raises(SettingsError, match=r"small\.gif"):
        edgekit("build", frames, "--out", out, "--preview", tmp_path / "small.gif")
    assert not out.exists()
    edgekit("build", frames, "--out", out, "--quiet")
    for name, start in (("small.png", b"\x89PNG"), ("small.jpg", b"\xff\xd8\xff")):
        edgekit("export", out, tmp_path / name, "--preview")
        assert (tmp_path / name).read_bytes().startswith(start)
    with pytest.raises(SettingsError, match="small") as refused:
        edgekit("export", out, tmp_path / "small.bmp", "--preview")
    assert ".png, .jpg" in (refused.value.mend or "")


def test_a_file_is_overwritten_with_force_alone(frames: Path, tmp_path: Path) -> None:
    out, target = tmp_path / "row", tmp_path / "small.png"
    edgekit("build", frames, "--out", out, "--quiet")
    target.write_text("keep me")
    with pytest.raises(SettingsError, match="is there already"):
        edgekit("export", out, target, "--preview")
    assert target.read_text() == "keep me"
    told = json.loads(edgekit("export", out, target, "--preview", "--force", "--json"))
    assert target.read_bytes().startswith(b"\x89PNG")
    assert told == {"path": str(target), "bytes": target.stat().st_size, "panorama": str(out)}


def test_folders_that_cannot_be_used(frames: Path, tmp_path: Path) -> None:
    out = tmp_path / "row"
    edgekit(frames, "--out", out, "--quiet")
    with pytest.raises(RunFinishedError):
        edgekit(frames, "--out", out)
    (out / "panorama.json").unlink()
    with pytest.raises(RunFinishedError):
        edgekit(frames, "--out", out)
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("keep me")
    with pytest.raises(RunFolderError, match=r"letter\.txt"):
        edgekit(frames, "--out", other)
    with pytest.raises(RunFolderError, match="no finished panorama"):
        edgekit("export", other, tmp_path / "x.tif")


def test_a_recording_is_seen_through_the_camera_that_made_it(frames: Path, tmp_path: Path) -> None:
    """Mounted in portrait, with corners that get half of the light: with --camera it is the panorama of the others."""
    board = np.full((160, 320), 200.0)
    x, y = np.meshgrid(np.linspace(-1, 1, 320), np.linspace(-1, 1, 160))
    board *= 1 - 0.25 * (x**2 + y**2)
    sideways = tmp_path / "sideways"
    sideways.mkdir()
    for number in range(0, 20):
        seen = cv2.imread(str(frames / f"f{number}.png")) * (board / 200)[:, :, None]
        cv2.imwrite(str(sideways / f"f{number:02}.png"), np.rot90(np.rint(seen).astype(np.uint8), 1))
    cv2.imwrite(str(tmp_path / "white.png"), board.astype(np.uint8))
    camera = tmp_path / "left.toml"
    camera.write_text('kind = "csi"\naddress = "0"\nturn_deg = 90\nflat_field = "white.png"\npx_per_metre = 800.0\n')
    out = tmp_path / "row"
    edgekit(sideways, "--out", out, "--camera", camera, "--kind", "png", "--quiet")
    summary = json.loads((out / "panorama.json").read_text())
    assert summary["height_px"] == 160
    assert summary["width_px"] == pytest.approx(19 * 7.5 + 320, abs=1)
    assert summary["px_per_metre"] == 800
    plain = tmp_path / "plain"
    straight = tmp_path / "straight"
    straight.mkdir()
    for number in range(0, 20):
        (straight / f"f{number:02}.png").write_bytes((frames / f"f{number}.png").read_bytes())
    edgekit(straight, "--out", plain, "--kind", "png", "--quiet")
    one, other = (cv2.imread(str(folder / "segment_00000.png")).astype(float) for folder in (out, plain))
    width = min(one.shape[1], other.shape[1])
    assert np.abs(one[4:-4, :width] - other[4:-4, :width])[:, 4:-4].mean() < 4


def test_a_place_that_cannot_be_written_to_is_told_before_the_work(frames: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(StorageError, match="file"):
        edgekit(frames, "--out", tmp_path / "file" / "row")
    with pytest.raises(StorageError, match="file"):
        edgekit(frames, "--out", tmp_path / "row", "--preview", tmp_path / "file" / "small.png")
    assert not (tmp_path / "row").exists()


def test_a_panorama_has_one_row(frames: Path, tmp_path: Path) -> None:
    edgekit(frames, "--out", tmp_path / "row", "--quiet")
    with pytest.raises(RunFolderError, match="has 1 row, asked for row 4"):
        edgekit("export", tmp_path / "row", tmp_path / "row.tif", "--row", 4)


def test_bad_options(frames: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="travel"):
        edgekit(frames, "--out", tmp_path / "a", "--travel", "up")
    with pytest.raises(SettingsError, match="band"):
        edgekit(frames, "--out", tmp_path / "a", "--band", "0.9", "0.1")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("seconds", ["nan", "inf", "0", "-1"])
def test_a_time_that_is_none_is_refused_before_the_camera_is_opened(seconds: str, tmp_path: Path) -> None:
    (tmp_path / "film.toml").write_text('kind = "rtsp"\naddress = "rtsp://127.0.0.1:9/1"\n')
    with pytest.raises(SettingsError, match="no time for a row"):
        edgekit(tmp_path / "film.toml", "--out", tmp_path / "row", f"--seconds={seconds}")
    assert not (tmp_path / "row").exists()
