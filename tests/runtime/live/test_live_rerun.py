"""A second look at a live run: the rows keep their names and sides, the same model finds the same fruit."""

from __future__ import annotations

from ride import ride_two_rows, stored
from run_scene import MagentaSegmenter, silent

from edgekit.runtime.job import Job
from edgekit.runtime.live.runs import run_folders
from edgekit.runtime.pipeline import run_job
from edgekit.runtime.rerun import compare_runs, stored_panoramas
from edgekit.store import RunFolder, RunReader


def test_rows_of_a_ride_are_looked_at_again(tmp_path):
    ride_two_rows(tmp_path / "runs")
    (run,) = run_folders(tmp_path / "runs")
    found = stored_panoramas(run)
    job = Job(found.sources, "other.onnx", found.settings, 0.5, "option --threshold", built=found.rows)
    run_job(job, tmp_path / "again", [MagentaSegmenter()], progress=silent)
    reader = RunReader.open(RunFolder(tmp_path / "again").database)
    rows = {source.path: (source.row, source.side) for source in reader.sources()}
    reader.close()
    assert rows == {"12 left": ("12", "left"), "13 right": ("13", "right")}
    compared = compare_runs(run, tmp_path / "again")
    assert compared["fruit"] == [91, 91]
    assert [row["difference"] for row in compared["rows"]] == [0, 0]
    assert stored(tmp_path / "runs").rows["12 left"].fruit == 60
