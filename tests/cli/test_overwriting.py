"""What is there already is overwritten only where it was asked for, and that is told before any work."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from edgekit.cli.main import app
from edgekit.errors import EdgekitError, SettingsError

WRITERS = {
    "bench --out": ("bench", "run", "none.onnx", "--out", "FILE.json"),
    "bench --report": ("bench", "run", "none.onnx", "--report", "FILE.md"),
    "score --out": ("bench", "score", "none.json", "--data", "none.json", "--out", "FILE.json"),
    "board": ("camera", "board", "--out", "FILE.png"),
    "marker": ("camera", "marker", "row:12", "--out", "FILE.png"),
    "flat field": ("camera", "flat-field", "none.mp4", "--out", "FILE.png"),
    "lens": ("camera", "calibrate", "none", "--out", "FILE.toml"),
    "lens, picture beside it": ("camera", "calibrate", "none", "--out", "new.toml", "--coverage", "FILE.png"),
    "fit --json": ("calibrate", "fit", "none", "--json", "FILE.json"),
    "fit --report": ("calibrate", "fit", "none", "--report", "FILE.html"),
    "fit, picture beside the report": ("calibrate", "fit", "none", "--report", "FILE"),
    "report": ("calibrate", "report", "none", "--out", "FILE.html"),
    "show": ("calibrate", "show", "none", "--json", "FILE.json"),
    "compare": ("calibrate", "compare", "none", "none", "--json", "FILE.json"),
    "apply": ("calibrate", "apply", "none", "--run", "none", "--json", "FILE.json"),
    "preview": ("panorama", "build", "none.mp4", "--out", "new", "--preview", "FILE.png"),
}


@pytest.mark.parametrize("words", WRITERS.values(), ids=WRITERS)
def test_a_file_that_is_there_is_overwritten_only_with_force(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    there = tmp_path / next(word for word in words if word.startswith("FILE"))
    there = there if there.suffix else there.with_suffix(".png")
    there.write_text("before")
    refused = CliRunner().invoke(app, list(words)).exception
    assert isinstance(refused, SettingsError)
    assert str(refused) == f"{there.name} is there already - name another file, or --force overwrites it"
    assert there.read_text() == "before"
    forced = CliRunner().invoke(app, [*words, "--force"]).exception
    assert forced is None or (isinstance(forced, EdgekitError) and "is there already" not in str(forced))
