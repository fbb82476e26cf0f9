"""A second look at a run that is there."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace

import numpy as np
import pytest
from run_scene import TILE_PX, MagentaSegmenter, job, settings, silent, spread, strip, write_frames, write_png
from typer.testing import CliRunner

from edgekit.errors import RunDamagedError, RunFinishedError, RunFolderError
from edgekit.runtime.job import Job
from edgekit.runtime.panorama.segments import SegmentReader
from edgekit.runtime.pipeline import run_job
from edgekit.runtime.rerun import compare_runs, stored_panoramas
from edgekit.runtime.settings import SegmentSettings
from edgekit.store import RunFolder, RunReader, RunRecorder

SIZE_WH = (700, 200)
DISCS = spread(30, SIZE_WH)
BRIGHTNESS = [90 + 5 * number for number in range(30)]
EXACT = SegmentSettings(kind="png", width_px=256)


@pytest.fixture
def first(tmp_path):
    """A run of two rows: a panorama and the frames of a camera; scores from 0.35 to 0.92."""
    scene = strip(SIZE_WH, DISCS, brightness=BRIGHTNESS)
    frames = write_frames(tmp_path / "frames", scene, step_px=40, width_px=260)
    work = job(frames, panorama=False, threshold=0.5, run_settings=settings(segments=EXACT, px_per_metre=350.0))
    run_job(work, tmp_path / "first", [MagentaSegmenter()], progress=silent)
    return tmp_path / "first"


def rerun(run, out, *, threshold=0.5, segmenter=None, **changes):
    stored = stored_panoramas(run)
    work = Job(stored.sources, "other.onnx", stored.settings, threshold, "option --threshold", built=stored.rows)
    return run_job(replace(work, **changes), out, [segmenter or MagentaSegmenter()], progress=silent)


def summary_of(run):
    return json.loads((run / "summary.json").read_text())


def test_the_same_model_finds_the_same_fruit(first, tmp_path):
    before, now = summary_of(first), rerun(first, tmp_path / "second")
    assert 0 < now["fruit"] == before["fruit"] < len(DISCS)
    assert now["detections"] == before["detections"]
    assert now["panorama"] == before["panorama"]
    assert (first / "fruit.csv").read_text() == (tmp_path / "second" / "fruit.csv").read_text()


def test_rows_keep_their_names_scale_and_remarks(first, tmp_path):
    with_remark(first, "40 px of the panorama are bridged: there the movement was predicted")
    with_remark(first, "confidences have drifted from the season's")
    now, before = rerun(first, tmp_path / "second"), summary_of(first)
    assert now["source"] == before["source"]
    assert now["fruit_per_metre"] == pytest.approx(before["fruit_per_metre"])
    assert now["rows"][0]["remarks"] == ["40 px of the panorama are bridged: there the movement was predicted"]


def with_remark(run, text):
    recorder = RunRecorder(RunFolder(run).database)
    source = recorder.reader.sources()[0]
    recorder.event(recorder.reader.run().id, "remark", text, source_id=source.id)
    recorder.close()


def test_names_and_sides_of_live_rows_are_kept(first, tmp_path):
    recorder = RunRecorder(RunFolder(first).database)
    recorder.name_row(recorder.reader.sources()[0].id, "12", "left")
    recorder.close()
    rerun(first, tmp_path / "second")
    reader = RunReader.open(RunFolder(tmp_path / "second").database)
    assert [(source.row, source.side) for source in reader.sources()] == [("12", "left")]
    reader.close()


def test_what_was_measured_in_a_row_is_kept(first, tmp_path):
    with sqlite3.connect(RunFolder(first).database) as connection:
        connection.execute("UPDATE sources SET px_per_metre = 200.0, bridged = '[[10, 50]]'")
    connection.close()
    now = rerun(first, tmp_path / "second")
    reader = RunReader.open(RunFolder(tmp_path / "second").database)
    (source,) = reader.sources()
    reader.close()
    assert (source.px_per_metre, source.bridged) == (200.0, ((10, 50),))
    assert now["fruit_per_metre"] != summary_of(first)["fruit_per_metre"]


def test_settings_come_back_as_they_were():
    from edgekit.runtime.rerun import _settings

    for each in (settings(), settings(segments=EXACT, px_per_metre=350.0)):
        assert _settings(json.loads(json.dumps(each.flat()))) == each


def test_another_threshold_moves_the_count_and_the_comparison_shows_it(first, tmp_path):
    now = rerun(first, tmp_path / "second", threshold=0.8)
    compared = compare_runs(first, tmp_path / "second")
    before = summary_of(first)["fruit"]
    assert now["fruit"] < before
    assert compared["fruit"] == [before, now["fruit"]]
    assert compared["rows"][0]["difference"] == now["fruit"] - before
    assert compared["threshold"] == [0.5, 0.8]
    assert compared["model"] == ["stub.onnx", "other.onnx"]


def test_pictures_take_no_more_space_and_outlive_the_first_run(first, tmp_path):
    rerun(first, tmp_path / "second")
    mine, theirs = (RunFolder(run).segments(0) for run in (first, tmp_path / "second"))
    names = sorted(path.name for path in mine.glob("segment_*"))
    assert len(names) > 1
    assert all((mine / name).stat().st_ino == (theirs / name).stat().st_ino for name in names)
    whole = SegmentReader(mine).window(0, 700)
    for path in mine.iterdir():
        path.unlink()
    np.testing.assert_array_equal(SegmentReader(theirs).window(0, 700), whole)
    assert rerun(tmp_path / "second", tmp_path / "third")["fruit"] == summary_of(tmp_path / "second")["fruit"]


def test_a_disk_that_links_nothing_gets_copies(first, tmp_path, monkeypatch):
    def refuse(source, target):
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr("os.link", refuse)
    assert rerun(first, tmp_path / "second")["fruit"] == summary_of(first)["fruit"]


def test_a_rerun_that_was_cut_goes_on(first, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        rerun(first, tmp_path / "second", segmenter=MagentaSegmenter(fail_after=5, pause_s=0.2))
    model = MagentaSegmenter()
    assert rerun(first, tmp_path / "second", segmenter=model)["fruit"] == summary_of(first)["fruit"]
    assert model.seen < summary_of(first)["tiles"]
    with pytest.raises(RunFinishedError):
        rerun(first, tmp_path / "second")


def test_the_first_run_is_not_touched(first, tmp_path):
    before = {path: path.read_bytes() for path in first.rglob("*") if path.is_file() and "-shm" not in path.name}
    rerun(first, tmp_path / "second")
    assert before.items() <= {path: path.read_bytes() for path in first.rglob("*") if path.is_file()}.items()


def test_rows_whose_pictures_are_gone_are_left_out_and_told(tmp_path):
    scene = write_png(tmp_path / "row.png", strip(SIZE_WH, DISCS))
    other = write_png(tmp_path / "other.png", strip((300, 150), DISCS[:0]))
    run_job(job(scene, other), tmp_path / "first", [MagentaSegmenter()], progress=silent)
    (RunFolder(tmp_path / "first").segments(0) / "segments.json").unlink()
    stored = stored_panoramas(tmp_path / "first")
    assert [source.path for source in stored.sources] == [str(other)]
    assert stored.left_out == (f"{scene}: its panorama is unfinished or gone",)
    rerun(tmp_path / "first", tmp_path / "second")
    compared = compare_runs(tmp_path / "first", tmp_path / "second")
    assert [row["fruit"] for row in compared["rows"]] == [[30, None], [0, 0]]
    assert [row["difference"] for row in compared["rows"]] == [None, 0]


def test_a_run_without_panoramas_and_no_run_at_all_are_refused(first, tmp_path):
    recorder = RunRecorder(RunFolder(first).database)
    recorder.drop_pictures(recorder.reader.sources()[0].id)
    recorder.close()
    with pytest.raises(RunFolderError, match="pictures were not kept"):
        stored_panoramas(first)
    with pytest.raises(RunFolderError, match="no run"):
        stored_panoramas(tmp_path)


def test_a_missing_segment_is_one_line(first, tmp_path):
    next(RunFolder(first).segments(0).glob("segment_*")).unlink()
    with pytest.raises(RunDamagedError, match="is missing"):
        rerun(first, tmp_path / "second")


def test_a_live_run_ridden_twice_compares_ride_with_ride(first, tmp_path):
    """Two rows of one name do not hide each other."""
    from edgekit.runtime.rerun import _unlike

    assert _unlike(["12 left", "13 left", "12 left", "12 left"]) == ["12 left", "13 left", "12 left (2)", "12 left (3)"]


def test_the_command_compares_side_by_side(tmp_path):
    from edgekit.cli.main import app

    pytest.importorskip("onnx")
    from segment.graphs import INFO, echo_graph

    graph = echo_graph(tmp_path / "m.onnx", replace(INFO, tile_size_px=TILE_PX))
    scene = write_png(tmp_path / "row.png", strip(SIZE_WH, DISCS, brightness=[3] * 30))
    command = ["run", str(scene), "--panorama", "--out", str(tmp_path / "first"), "--model", str(graph), "-q"]
    assert CliRunner().invoke(app, [*command, "--threshold", "0.5"]).exit_code == 0
    again = ["rerun", str(tmp_path / "first"), "--out", str(tmp_path / "second"), "--model", str(graph)]
    done = CliRunner().invoke(app, [*again, "--threshold", "0.9", "--json", "-q"], catch_exceptions=False)
    told = json.loads(done.stdout)
    assert told["comparison"]["threshold"] == [0.5, 0.9]
    assert told["summary"]["source"] == str(scene)
