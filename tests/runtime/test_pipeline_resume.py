import json
import sqlite3
import subprocess
import sys

import pytest
from run_scene import MagentaSegmenter, job, silent, spread, strip, write_frames, write_png

from edgekit.errors import RunFinishedError, RunFolderError
from edgekit.runtime.pipeline import run_job
from edgekit.store import RunFolder

SIZE_WH = (900, 200)
DISCS = spread(40, SIZE_WH)
COUNTED = ("frames", "panorama", "tiles", "detections", "fruit", "rows")


@pytest.fixture
def scene(tmp_path):
    return write_png(tmp_path / "row.png", strip(SIZE_WH, DISCS))


def counts(out):
    summary = json.loads((out / "summary.json").read_text())
    return {key: summary[key] for key in COUNTED}


def cut_run(work, out, **options):
    with pytest.raises(KeyboardInterrupt):
        run_job(work, out, [MagentaSegmenter(**options)], progress=silent)


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("after", [0, 1, 9, 17])
def test_a_run_that_was_cut_goes_on_where_it_was(scene, tmp_path, after, batch):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    reference = MagentaSegmenter(batch=batch)
    run_job(job(scene), whole, [reference], progress=silent)
    cut_run(job(scene), cut, fail_after=after, batch=batch)
    rest = MagentaSegmenter(batch=batch)
    run_job(job(scene), cut, [rest], progress=silent)
    assert rest.seen == reference.seen - after // batch * batch  # nothing that is stored runs again
    assert counts(cut) == counts(whole)
    for name in ("fruit.coco.json", "fruit.csv", "annotated.png"):
        assert (cut / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.parametrize("step_px", [25, -25])
def test_a_row_of_frames_that_was_cut_goes_on(tmp_path, step_px):
    frames = write_frames(tmp_path / "frames", strip(SIZE_WH, DISCS), step_px=step_px, width_px=250)
    work = job(frames, panorama=False)
    run_job(work, tmp_path / "whole", [MagentaSegmenter()], progress=silent)
    cut_run(work, tmp_path / "cut", fail_after=5)
    cut_run(work, tmp_path / "cut", fail_after=7)
    run_job(work, tmp_path / "cut", [MagentaSegmenter()], progress=silent)
    assert counts(tmp_path / "cut") == counts(tmp_path / "whole")
    assert (tmp_path / "cut/fruit.csv").read_bytes() == (tmp_path / "whole/fruit.csv").read_bytes()


def test_rows_that_are_counted_are_not_read_again(scene, tmp_path):
    second = write_png(tmp_path / "second.png", strip((400, 200), DISCS[:0]))
    tiles = MagentaSegmenter()
    run_job(job(scene), tmp_path / "alone", [tiles], progress=silent)
    cut_run(job(scene, second), tmp_path / "out", fail_after=tiles.seen + 1)
    rest = MagentaSegmenter()
    run_job(job(scene, second), tmp_path / "out", [rest], progress=silent)
    assert counts(tmp_path / "out")["fruit"] == len(DISCS)
    assert rest.seen < tiles.seen


def test_a_finished_run_is_refused(scene, tmp_path):
    run_job(job(scene), tmp_path / "out", [MagentaSegmenter()], progress=silent)
    with pytest.raises(RunFinishedError, match="holds a finished run"):
        run_job(job(scene), tmp_path / "out", [MagentaSegmenter()], progress=silent)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"weights_digest": "1" * 64}, "the model is"),
        ({"class_names": ("ripe", "green")}, "the classes are"),
        ({"threshold": 0.6}, "the threshold is 0.6, it was 0.5"),
        ({"overlap_px": 41}, "tiles.overlap_px is 41, it was 40"),
        ({"source": "other.png"}, "the sources are"),
        ({"touched": True}, "has changed since"),
    ],
)
def test_another_run_in_the_folder_is_refused_with_what_differs(scene, tmp_path, changed, told):
    from dataclasses import replace

    cut_run(job(scene), tmp_path / "out", fail_after=3)
    work, info = job(scene), {key: changed[key] for key in ("weights_digest", "class_names") if key in changed}
    if "source" in changed:
        work = job(write_png(tmp_path / changed["source"], strip(SIZE_WH, DISCS)))
    if "touched" in changed:
        write_png(scene, strip((910, 200), DISCS))
        work = job(scene)
    if "overlap_px" in changed:
        tiles = replace(work.settings.tiles, overlap_px=41)
        work = replace(work, settings=replace(work.settings, tiles=tiles))
    work = replace(work, threshold=changed.get("threshold", work.threshold))
    with pytest.raises(RunFolderError, match=told):
        run_job(work, tmp_path / "out", [MagentaSegmenter(**info)], progress=silent)


def test_the_folder_of_a_running_process_is_refused(scene, tmp_path):
    with (
        RunFolder(tmp_path / "out").claimed(),
        pytest.raises(RunFolderError, match="another edgekit process"),
    ):
        run_job(job(scene), tmp_path / "out", [MagentaSegmenter()], progress=silent)


def test_half_written_files_are_set_aside_and_told(scene, tmp_path):
    out = tmp_path / "out"
    cut_run(job(scene), out, fail_after=3)
    (out / "summary.json").write_text('{"edgekit": "0.')
    (out / ".fruit.1a2b3c4d.partial.csv").write_text("source,num")
    run_job(job(scene), out, [MagentaSegmenter()], progress=silent)
    kept = sorted(path.name for path in (out / "set-aside").iterdir())
    assert kept == ["1-fruit.1a2b3c4d.partial.csv", "1-summary.json"]
    assert counts(out)["fruit"] == len(DISCS)
    events = sqlite3.connect(out / "run.sqlite").execute("SELECT message FROM events WHERE kind = 'set aside'")
    assert len(events.fetchall()) == 2


def test_a_finished_run_that_lost_a_result_file_writes_it_again(scene, tmp_path):
    out = tmp_path / "out"
    run_job(job(scene), out, [MagentaSegmenter()], progress=silent)
    wanted = (out / "fruit.coco.json").read_bytes()
    for share in (0.01, 0.5, 0.99):
        (out / "fruit.coco.json").write_bytes(wanted[: int(len(wanted) * share)])
        rest = MagentaSegmenter()
        run_job(job(scene), out, [rest], progress=silent)
        assert (out / "fruit.coco.json").read_bytes() == wanted
        assert rest.seen == 0


@pytest.mark.parametrize("kills", [3])
def test_sigkill_at_random_moments(tmp_path, repository, kills):
    """The short form of bench/crash/kill_resume.py, with a slow stub in place of the model."""
    scene = write_png(tmp_path / "row.png", strip(SIZE_WH, DISCS))
    script = repository / "tests/runtime/stub_run.py"
    command = [sys.executable, str(script), str(scene), "--out"]
    killer = [sys.executable, str(repository / "bench/crash/kill_resume.py"), "--kills", str(kills), "--seed", "3"]
    done = subprocess.run(
        [*killer, "--folder", str(tmp_path), "--json", "--", *command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["kills"] == kills
    assert told["integrity"] == ["ok"] * kills
    assert told["same_counts"]


def test_a_finished_folder_is_refused_before_recordings_are_searched_for_markers(scene, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from edgekit.cli.main import app

    out = tmp_path / "run"
    run_job(job(scene), out, [MagentaSegmenter()], progress=silent)
    before = sorted(path.name for path in out.iterdir())
    searched = []
    monkeypatch.setattr("edgekit.runtime.row_view.open_row", lambda *_, **__: searched.append(1))
    done = CliRunner().invoke(app, ["run", "long.mp4", "--markers", "--out", str(out)])
    assert isinstance(done.exception, RunFinishedError)
    assert not searched
    assert sorted(path.name for path in out.iterdir()) == before
