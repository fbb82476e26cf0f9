"""Each bad input gives one line and its own exit code, and what was finished is kept."""

import json
import os
import subprocess

import av
import numpy as np
import pytest
from run_scene import MagentaSegmenter, job, leaves, silent, spread, strip, write_frames, write_png
from typer.testing import CliRunner

from edgekit.errors import EdgekitError, ModelError, RunFinishedError, SourceError, StorageError
from edgekit.runtime.pipeline import run_job
from edgekit.store import RunFolder, RunReader

SIZE_WH = (700, 200)
DISCS = spread(20, SIZE_WH)


@pytest.fixture
def scene(tmp_path):
    return write_png(tmp_path / "row.png", strip(SIZE_WH, DISCS))


def write_video(path, scene, *, step_px=4, width_px=240):
    container = av.open(str(path), "w")
    stream = container.add_stream("mpeg4", rate=25)
    stream.width, stream.height, stream.bit_rate = width_px, scene.shape[0], 8_000_000
    for x in range(0, scene.shape[1] - width_px + 1, step_px):
        picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(scene[:, x : x + width_px]), format="rgb24")
        container.mux(stream.encode(picture))
    container.mux(stream.encode(None))
    container.close()
    return path


def run_cli(monkeypatch, *words):
    """The command as a person would give it, with the stub in place of the model."""
    from edgekit.cli.main import app

    def opened(path, **options):
        if str(path) != "stub.onnx":
            raise ModelError(f"no model file {path}", mend="check the path")
        return MagentaSegmenter()

    monkeypatch.setattr("edgekit.runtime.models.open_segmenter", opened)
    config = ["--config", os.environ["EDGEKIT_TEST_CONFIG"]] if words[0] == "run" else []
    return CliRunner().invoke(app, [str(word) for word in (*words, *config)], catch_exceptions=True)


@pytest.fixture(autouse=True)
def small_tiles(tmp_path, monkeypatch):
    config = tmp_path / "run.toml"
    config.write_text("[tiles]\nsize_px = 128\noverlap_px = 40\n")
    monkeypatch.setenv("EDGEKIT_TEST_CONFIG", str(config))


def bad_sources(tmp_path):
    (tmp_path / "empty_folder").mkdir()
    (tmp_path / "empty.mp4").touch()
    (tmp_path / "text.mp4").write_text("this is no video at all" * 100)
    broken = tmp_path / "broken_frames"
    broken.mkdir()
    for number in range(3):
        (broken / f"{number}.jpg").write_bytes(b"\xff\xd8\xff\xe0 cut")
    whole = write_png(tmp_path / "whole.jpg", leaves((300, 200))).read_bytes()
    (tmp_path / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.png").write_text("no picture")
    (tmp_path / "empty.png").touch()
    video = write_video(tmp_path / "v.mp4", strip(SIZE_WH, DISCS)).read_bytes()
    (tmp_path / "cut.mp4").write_bytes(video[: int(0.6 * len(video))])


@pytest.mark.parametrize(
    ("name", "panorama"),
    [
        ("nothing.mp4", False), ("empty_folder", False), ("empty.mp4", False), ("text.mp4", False),
        ("broken_frames", False), ("cut.mp4", False), ("whole.jpg", False), ("nothing.png", True), ("empty.png", True),
        ("text.png", True), ("cut.jpg", True), ("empty_folder", True),
    ],
)  # fmt: skip
def test_a_source_that_cannot_be_read(tmp_path, monkeypatch, name, panorama):
    bad_sources(tmp_path)
    words = ["run", tmp_path / name, "--out", tmp_path / "out", "--model", "stub.onnx", "--quiet"]
    told = run_cli(monkeypatch, *words, *(["--panorama"] if panorama else []))
    assert isinstance(told.exception, SourceError), told.exception
    assert told.exception.exit_code == 20
    assert name in str(told.exception)
    assert "\n" not in str(told.exception)


def test_a_video_that_ends_early_is_counted_as_far_as_it_goes(tmp_path):
    video = write_video(tmp_path / "row.mkv", strip(SIZE_WH, DISCS))
    data = video.read_bytes()
    video.write_bytes(data[: int(0.6 * len(data))])
    summary = run_job(job(video, panorama=False), tmp_path / "out", [MagentaSegmenter()], progress=silent)
    assert summary["fruit"] > 0
    assert 240 < summary["panorama"]["width_px"] < 0.8 * SIZE_WH[0]
    assert any("ended early" in remark for remark in summary["rows"][0]["remarks"])


def test_a_finished_run_is_refused_before_anything_is_said_of_its_threshold(scene, monkeypatch, tmp_path):
    words = ("run", scene, "--panorama", "--out", tmp_path / "out", "--model", "stub.onnx")
    run_cli(monkeypatch, *words, "--threshold", "0.2")
    told = run_cli(monkeypatch, *words)
    assert isinstance(told.exception, RunFinishedError)
    assert "warning" not in told.stderr


def test_single_pictures_taken_for_frames_are_told(monkeypatch, tmp_path):
    """The mistake of a newcomer: --panorama was forgotten. What the quality report warns of stands in the summary."""
    for number in range(12):
        write_png(tmp_path / "pictures" / f"{number:02d}.png", leaves((300, 200), seed=number))
    words = ("run", tmp_path / "pictures", "--out", tmp_path / "out", "--model", "stub.onnx", "--json")
    told = run_cli(monkeypatch, *words)
    (row,) = json.loads((tmp_path / "out" / "summary.json").read_text())["rows"]
    assert any("use --panorama" in remark for remark in row["remarks"])
    assert f"warning: {tmp_path / 'pictures'}: 1 of 12 frames could be placed" in told.stderr


def test_a_corrupt_stretch_of_a_video_is_passed_over_and_told(tmp_path):
    video = write_video(tmp_path / "row.avi", strip(SIZE_WH, DISCS))
    data = bytearray(video.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 6000] = os.urandom(6000)
    video.write_bytes(bytes(data))
    summary = run_job(job(video, panorama=False), tmp_path / "out", [MagentaSegmenter()], progress=silent)
    assert summary["fruit"] > 0
    assert summary["rows"][0]["remarks"]


def test_a_bad_row_among_good_ones_does_not_cost_the_good_ones(scene, tmp_path):
    bad = tmp_path / "bad.png"
    bad.write_bytes(scene.read_bytes()[:500])
    after = write_png(tmp_path / "after.png", strip(SIZE_WH, DISCS[:7]))
    with pytest.raises(SourceError, match=r"bad\.png"):
        run_job(job(scene, bad, after), tmp_path / "out", [MagentaSegmenter()], progress=silent)
    reader = RunReader.open(RunFolder(tmp_path / "out").database)
    assert [source.state for source in reader.sources()] == ["merged", "failed", "merged"]
    assert [reader.count_fruit(number, 0.5) for number in (1, 2, 3)] == [len(DISCS), 0, 7]
    reader.close()
    assert (tmp_path / "out/summary.json").exists()


def test_a_source_that_was_mended_is_counted_by_the_same_command(scene, tmp_path):
    whole = scene.read_bytes()
    scene.write_bytes(whole[:500])
    with pytest.raises(SourceError):
        run_job(job(scene), tmp_path / "out", [MagentaSegmenter()], progress=silent)
    scene.write_bytes(whole)
    assert run_job(job(scene), tmp_path / "out", [MagentaSegmenter()], progress=silent)["fruit"] == len(DISCS)


def test_the_same_row_twice_is_refused(scene):
    with pytest.raises(SourceError, match="named twice"):
        job(scene, scene)


def test_a_model_that_is_not_there(scene, tmp_path, monkeypatch):
    told = run_cli(monkeypatch, "run", scene, "--panorama", "--out", tmp_path / "out", "--model", "none.onnx")
    assert isinstance(told.exception, ModelError)
    assert not (tmp_path / "out").exists()  # nothing is written before everything was looked at


@pytest.mark.parametrize(
    "words",
    [["--threshold", "0.01"], ["--threshold", "1.5"], ["--threshold", "nan"], ["--threshold", "0.5", "--season", "s"]],
)
def test_a_threshold_that_cannot_be(scene, tmp_path, monkeypatch, words):
    told = run_cli(monkeypatch, "run", scene, "--panorama", "--out", tmp_path / "o", "--model", "stub.onnx", *words)
    assert isinstance(told.exception, EdgekitError)
    assert told.exception.exit_code == 10


def test_finished_runs_are_refused_and_counted(scene, tmp_path, monkeypatch):
    words = ["run", scene, "--panorama", "--out", tmp_path / "out", "--model", "stub.onnx", "--quiet"]
    assert run_cli(monkeypatch, *words).exit_code == 0
    assert run_cli(monkeypatch, *words).exception.exit_code == 41
    counted = run_cli(monkeypatch, "count", tmp_path / "out", "--threshold", "0.9")
    assert counted.exit_code == 0
    assert f"{len(DISCS)} fruit at confidence >= 0.9" in counted.stdout
    assert run_cli(monkeypatch, "count", tmp_path / "out", "--threshold", "0.01").exception.exit_code == 10
    assert run_cli(monkeypatch, "count", tmp_path).exception.exit_code == 40


def test_a_full_disk_while_tiles_are_stored(tmp_path, monkeypatch):
    """The database may not grow any more: what was committed stays, and the run goes on when there is room."""
    discs = spread(150, (3000, 200))
    scene = write_png(tmp_path / "long.png", strip((3000, 200), discs))
    from edgekit.store import recorder as module

    opened = module.open_writer

    def small(path):
        connection = opened(path)
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        return connection

    monkeypatch.setattr(module, "open_writer", small)
    monkeypatch.setattr(module, "COMMIT_EVERY_S", 0.0)
    with pytest.raises(StorageError, match="the disk is full"):
        run_job(job(scene), tmp_path / "out", [MagentaSegmenter()], progress=silent)
    monkeypatch.setattr(module, "open_writer", opened)
    reader = RunReader.open(tmp_path / "out/run.sqlite")
    kept = reader.count_tiles(1)
    reader.close()
    assert kept > 0
    rest = MagentaSegmenter()
    assert run_job(job(scene), tmp_path / "out", [rest], progress=silent)["fruit"] == len(discs)
    assert rest.seen > 0


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 600 kB."""
    mount = tmp_path / "disk"
    mount.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=600k", "edgekit-test", str(mount)]
    if os.geteuid() != 0 or subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("a small file system can only be mounted by root")
    yield mount
    subprocess.run(["umount", str(mount)], check=True)


@pytest.mark.parametrize("ballast_kb", [590, 540, 480, 300])
def test_a_disk_that_is_really_full(tmp_path, small_disk, ballast_kb):
    discs = spread(120, (2000, 300))
    frames = write_frames(tmp_path / "frames", strip((2000, 300), discs), step_px=100, width_px=400)
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(ballast_kb * 1024))
    out = small_disk / "out"
    with pytest.raises(StorageError, match=r"full|no access"):
        run_job(job(frames, panorama=False), out, [MagentaSegmenter()], progress=silent)
    ballast.unlink()
    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
    summary = run_job(job(frames, panorama=False), out, [MagentaSegmenter()], progress=silent)
    whole = run_job(job(frames, panorama=False), tmp_path / "whole", [MagentaSegmenter()], progress=silent)
    assert summary["fruit"] == whole["fruit"]


def test_a_read_only_disk(tmp_path, small_disk, scene):
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(StorageError, match="read-only"):
        run_job(job(scene), small_disk / "out", [MagentaSegmenter()], progress=silent)


def test_the_disk_fills_while_a_segment_is_written(scene, tmp_path, monkeypatch):
    import errno

    from edgekit import atomic

    def full(path):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomic, "flush", full)
    with pytest.raises(StorageError, match="the disk is full"):
        run_job(job(scene), tmp_path / "out", [MagentaSegmenter()], progress=silent)
    monkeypatch.undo()
    assert not list((tmp_path / "out").rglob("*.partial*"))
    rest = MagentaSegmenter()
    assert run_job(job(scene), tmp_path / "out", [rest], progress=silent)["fruit"] == len(DISCS)
    assert rest.seen <= 2  # all but the last column of tiles had been stored
